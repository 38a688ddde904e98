//! The runs that there are, each in a few numbers.

use crate::prelude::*;

/// The runs of a directory, the newest first. Serialised it is of the format `runs.v1`.
#[data]
pub struct RunList {
    /// The format: `runs.v1`.
    pub schema: String,
    /// The runs.
    pub runs: Vec<ListedRun>,
}

/// A run of the list.
#[sparse(marked)]
#[data]
pub struct ListedRun {
    /// Where it is.
    #[schemars(with = "String")]
    pub directory: PathBuf,
    /// What it came to; none if its report cannot be read.
    pub summary: Option<RunSummary>,
    /// Why its report cannot be read.
    #[sparse]
    pub problem: Option<String>,
}

/// What a run came to.
#[data]
pub struct RunSummary {
    /// A ULID.
    pub run_id: String,
    /// When it started, in UTC.
    pub started_at: String,
    /// What was done.
    pub scenario: String,
    /// The command or address.
    pub server: String,
    /// How it ended.
    pub outcome: RunOutcome,
    /// Whether it was interrupted, or ended before its time.
    pub partial: bool,
    /// Calls that ended.
    pub total_requests: u64,
    /// Calls per second.
    pub requests_per_sec: f64,
    /// The median latency; null with fewer than ten calls beyond it.
    pub p50_ms: Option<f64>,
    /// The 99th percentile; null with fewer than ten calls beyond it.
    pub p99_ms: Option<f64>,
    /// The share of calls that failed; null without calls.
    pub error_rate: Option<f64>,
    /// Calls that never answered.
    pub deadlock_count: u32,
}

impl RunList {
    /// The list of these runs.
    pub fn new(entries: &[RunEntry]) -> Self {
        let runs = entries.iter().map(|entry| ListedRun {
            directory: entry.directory.path().to_owned(),
            summary: entry.report.as_deref().ok().map(RunSummary::of),
            problem: entry.report.as_ref().err().map(ToString::to_string),
        });
        Self {
            schema: "runs.v1".to_owned(),
            runs: runs.collect(),
        }
    }

    /// The list as JSON.
    pub fn to_json(&self) -> String {
        super::to_json(self)
    }
}

impl RunSummary {
    fn of(report: &Report) -> Self {
        let latency = |quantile| report.latency.supported(quantile).map(as_milliseconds);
        Self {
            run_id: report.run_id.clone(),
            started_at: humantime::format_rfc3339_seconds(report.started_at).to_string(),
            scenario: report.scenario_kind.name().to_owned(),
            server: report.server_info.target.clone(),
            outcome: report.outcome(),
            partial: report.partial,
            total_requests: report.throughput.total_requests,
            requests_per_sec: report.throughput.requests_per_sec,
            p50_ms: latency(0.5),
            p99_ms: latency(0.99),
            error_rate: report.error_rate(),
            deadlock_count: report.deadlock_count,
        }
    }
}
