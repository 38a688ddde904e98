//! The smaller parts of a report.

use mcprove_score::fault_impact::FaultImpact;

use crate::prelude::*;

/// Whether calls wait for answers or follow a schedule.
#[choice(Copy, Eq)]
pub enum Model {
    /// The next call waits for an answer, so a stalled server sees fewer calls and its stalls are
    /// under-counted.
    Closed,
    /// Calls follow a schedule, whatever the server does.
    Open,
}

/// How a run ended.
#[choice(Copy, Eq)]
pub enum RunOutcome {
    /// Everything held.
    Passed,
    /// A threshold was violated, or a detector has a critical finding.
    Failed,
    /// A limit could not be judged for want of evidence.
    Inconclusive,
}

/// Who was tested.
#[data(open, Default, Eq)]
pub struct ServerInfo {
    /// The command or address.
    pub target: String,
    /// The name that the server gives itself.
    pub name: String,
    /// The version that the server gives itself.
    pub version: String,
    /// The revision of the protocol in force.
    pub protocol: String,
    /// `stdio`, `http`, `sse`, `ws` or `memory`.
    pub transport: String,
}

/// How many calls there were, warm-up excluded.
#[data(open, Default)]
pub struct ThroughputStats {
    /// Calls that ended, in whatever way.
    pub total_requests: u64,
    /// Calls that succeeded.
    pub successful_requests: u64,
    /// Successful and failed calls per second of load.
    pub requests_per_sec: f64,
    /// Calls that had ended by each offset from the start of the run, in seconds.
    #[serde(with = "timeline")]
    #[schemars(with = "Vec<(f64, u64)>")]
    pub timeline: Vec<(Duration, u64)>,
    /// What the calls were like in each stretch between those offsets.
    pub intervals: Vec<Interval>,
}

/// One stretch of the timeline.
#[data(Copy, Default)]
pub struct Interval {
    /// Calls that ended in it.
    pub completed: u64,
    /// Calls that failed in it.
    pub failed: u64,
    /// The mean latency of those that succeeded, in milliseconds.
    pub mean_ms: Option<f64>,
}

/// How many calls failed, and why.
#[sparse]
#[data(open, Default, Eq)]
pub struct ErrorStats {
    /// Failed calls, and sessions or starts that failed.
    pub total: u64,
    /// Of these, sessions or starts that failed; the others are calls.
    #[sparse]
    pub starts: u64,
    /// Of all, those that count against the server: late answers are answers, and calls that a rate limit refused count
    /// only where a limit was set. Not known to earlier versions.
    pub failed: Option<u64>,
    /// By category; each call counts in one. Files show those without a call too.
    #[serde(with = "categories")]
    #[schemars(with = "BTreeMap<ErrorCategory, u64>")]
    pub by_category: BTreeMap<ErrorCategory, u64>,
    /// By category and error code or HTTP status; not known to earlier versions.
    #[sparse]
    pub by_code: BTreeMap<String, u64>,
    /// Calls that the server refused by a rate limit or a quota.
    #[sparse]
    pub rate_limited: u64,
    /// The most frequent message of each category.
    #[sparse]
    pub examples: BTreeMap<ErrorCategory, String>,
}

impl ErrorStats {
    /// With the starts that failed.
    pub(crate) fn with_starts(mut self, starts: Option<&StartsReport>) -> Self {
        let Some(starts) = starts else {
            return self;
        };
        self.total += starts.failed;
        self.starts = starts.failed;
        for (category, failed) in &starts.by_category {
            *self.by_category.entry(*category).or_default() += failed;
            let example = starts.examples.get(category);
            let known = self.examples.entry(*category);
            known.or_insert_with(|| example.cloned().unwrap_or_default());
        }
        self
    }
}

/// What the server's processes used; all zero where they could not be looked at.
#[sparse]
#[data(open, Default)]
pub struct ProcessStats {
    /// The most resident memory of the whole process tree.
    pub peak_rss_mb: f64,
    /// The last.
    pub final_rss_mb: f64,
    /// From the first to the last sample.
    pub growth_mb: Option<f64>,
    /// The mean share of one core.
    pub avg_cpu_pct: f64,
    /// The most threads.
    pub peak_threads: Option<u32>,
    /// The most open descriptors.
    pub peak_descriptors: Option<u32>,
    /// Everything that was sampled.
    pub samples: Vec<ProcessSample>,
}

/// One tool's share of the run.
#[data(open)]
pub struct ToolReport {
    /// Calls that ended.
    pub count: u64,
    /// Latency of the successful ones.
    pub latency_ms: LatencyStats,
    /// How many failed, and why.
    pub errors: ErrorStats,
}

/// One phase of the load: a step of a ramp, the burst of a spike.
#[sparse]
#[in_seconds]
#[data(open)]
pub struct PhaseReport {
    /// Its name.
    pub name: String,
    /// Calls in flight; in the open model what sets the rate.
    pub concurrent: u32,
    /// Calls per second that were scheduled, in the open model.
    pub rate: Option<f64>,
    /// Whether its calls count.
    pub measured: bool,
    /// When it began, since the start of the run.
    pub from: Duration,
    /// How long it took.
    pub duration: Duration,
    /// Calls that ended.
    pub count: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls per second.
    pub requests_per_sec: f64,
    /// Latency of the successful ones.
    pub latency_ms: LatencyStats,
}

/// What injected faults did. The calls that they struck are in no other number of the report: these are
/// of calls that met no fault, or failed as it cannot make them, and so are the limits.
#[sparse]
#[data(open, Default)]
pub struct FaultsReport {
    /// Calls that a fault struck.
    pub calls_struck: u64,
    /// Those of them that failed.
    pub calls_failed: u64,
    /// Calls that no fault struck and that were lost with a connection that a fault ended.
    pub calls_lost: u64,
    /// Calls that a fault struck and that failed as it cannot make them: these are in the other numbers
    /// too, and count against the server.
    #[serde(default)]
    pub servers_own: u64,
    /// Connections that a fault ended and that were too many to be remembered: calls that were lost with
    /// them count against the server.
    #[sparse]
    pub connections_forgotten: u64,
    /// Calls that were too many different ones to recognise their repetitions: a fault with a rate
    /// chooses among these as if each came for the first time.
    #[sparse]
    pub calls_forgotten: u64,
    /// Processes of the server that a fault ended.
    pub crashes: u64,
    /// Fault by fault.
    pub impacts: Vec<FaultImpact>,
}

/// The size of `trace.jsonl`.
#[data(Copy, Eq)]
pub struct TraceStats {
    /// Events, one a line.
    pub events: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Points in time as RFC 3339 texts.
pub(super) mod rfc3339 {
    use serde::de::Error;

    use crate::prelude::*;

    pub fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_rfc3339_millis(*time))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_rfc3339(&text).map_err(D::Error::custom)
    }
}

/// Counts by category, with the zeros that readers of a file look for.
mod categories {
    use crate::prelude::*;

    pub fn serialize<S: Serializer>(
        counts: &BTreeMap<ErrorCategory, u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let count = |category| counts.get(&category).copied().unwrap_or_default();
        // What we gave up ourselves is no failure of the server, and is never counted.
        let shown = ErrorCategory::ALL
            .into_iter()
            .filter(|category| *category != ErrorCategory::Cancelled);
        serializer.collect_map(shown.map(|category| (category, count(category))))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<ErrorCategory, u64>, D::Error> {
        let mut counts = BTreeMap::deserialize(deserializer)?;
        counts.retain(|_, count| *count > 0);
        Ok(counts)
    }
}

/// Offsets and counts as pairs of numbers.
mod timeline {
    use serde::de::Error;

    use crate::prelude::*;

    pub fn serialize<S: Serializer>(
        points: &[(Duration, u64)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            points
                .iter()
                .map(|(offset, count)| (offset.as_secs_f64(), count)),
        )
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(Duration, u64)>, D::Error> {
        Vec::<(f64, u64)>::deserialize(deserializer)?
            .into_iter()
            .map(|(offset, count)| {
                let offset = Duration::try_from_secs_f64(offset).map_err(D::Error::custom)?;
                Ok((offset, count))
            })
            .collect()
    }
}
