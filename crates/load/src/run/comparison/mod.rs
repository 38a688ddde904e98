//! Whether one server is worse than another, or than it was: sets of runs, compared.
//!
//! The runs are recorded ones (`comparison/recorded.rs`), or made for the purpose, in turns
//! (`comparison/live.rs`). Each becomes a [`RunSample`]; what the samples say is decided by
//! [`mcprove_score::compare`].

mod error;
mod like;
mod live;
mod recorded;

use mcprove_client::permission::SkippedTool;
use mcprove_score::compare::{self, Change, CompareLimits, Comparison, RunSample};
use mcprove_settings::whole_file::write_whole;

use crate::prelude::*;

pub use error::CompareError;
pub use live::{Comparer, ComparisonHandler, ComparisonProgress, order};
pub use recorded::compare_recorded;

/// What to try when the sides had different loads.
fn unlike_advice() -> Message {
    message![
        "make the runs of both sides with the same scenario, tools and load, or give ",
        setting("unlike"),
        " to compare them all the same"
    ]
}

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What it is compared with.
    Baseline,
    /// What is in question.
    Current,
}

impl Side {
    /// The name in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Current => "current",
        }
    }
}

/// One run of a comparison.
#[sparse]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// Its ULID.
    pub run_id: String,
    /// The command or address.
    pub server: String,
    /// Where its files are; none if none were written.
    #[schemars(with = "Option<String>")]
    pub directory: Option<PathBuf>,
    /// Whether it ended before its time.
    pub partial: bool,
    /// What it measured.
    pub sample: RunSample,
}

/// The comparison of two sets of runs. Serialised it is of the format `comparison.v1`.
#[sparse]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonReport {
    /// The format: `comparison.v1`.
    pub schema: String,
    /// What the runs say.
    pub comparison: Comparison,
    /// What was allowed.
    pub limits: CompareLimits,
    /// The runs that it is compared with.
    pub baseline: Vec<ComparedRun>,
    /// The runs in question.
    pub current: Vec<ComparedRun>,
    /// What makes the comparison less than it seems.
    pub warnings: Vec<String>,
    /// Tools that were not called because they may write, of either side.
    #[sparse]
    pub skipped_tools: Vec<SkippedTool>,
    /// Whether it was interrupted before all runs were made.
    pub partial: bool,
    /// Files of the runs and of the comparison that are not complete; its own is not in the file.
    #[sparse]
    pub losses: Vec<Loss>,
}

impl ComparisonReport {
    /// Compares the runs that `sides` has.
    fn new(sides: Sides, limits: &CompareLimits, partial: bool) -> Self {
        let samples = |runs: &[ComparedRun]| -> Vec<RunSample> {
            runs.iter().map(|run| run.sample.clone()).collect()
        };
        let Sides {
            baseline,
            current,
            mut warnings,
            losses,
        } = sides;
        let mut comparison =
            compare::compare(&samples(&baseline.runs), &samples(&current.runs), limits);
        if let Some(differences) = like::differences(&baseline.setups, &current.setups) {
            if differences.is_other_load && !limits.unlike {
                comparison = comparison.undecided(unlike_advice());
            }
            warnings.push(differences.warning);
        }
        for (side, runs) in [
            (Side::Baseline, &baseline.runs),
            (Side::Current, &current.runs),
        ] {
            warnings.extend(caveats(side, runs));
        }
        let mut skipped_tools = baseline.skipped;
        skipped_tools.extend(current.skipped);
        skipped_tools.sort_by(|left, right| left.name.cmp(&right.name));
        skipped_tools.dedup();
        Self {
            schema: "comparison.v1".to_owned(),
            skipped_tools,
            comparison,
            limits: limits.clone(),
            baseline: baseline.runs,
            current: current.runs,
            warnings,
            partial,
            losses,
        }
    }

    /// All in all: regressed, improved, unchanged or inconclusive.
    pub fn change(&self) -> Change {
        self.comparison.change
    }

    /// What has a limit of its own and could not be judged, by name.
    pub fn inconclusive_gates(&self) -> Vec<&'static str> {
        let p99 = self
            .comparison
            .metrics
            .iter()
            .any(|found| found.metric == "p99_ms" && found.change == Change::Inconclusive);
        let errors = self.comparison.errors.change == Change::Inconclusive;
        let mut gates = Vec::new();
        if self.limits.p99_ratio.is_some() && p99 {
            gates.push("p99");
        }
        if self.limits.error_rate_increase.is_some() && errors {
            gates.push("errors");
        }
        gates
    }

    /// Why nothing is concluded, if the sides had different loads: what differs.
    pub fn unlike(&self) -> Option<&str> {
        let warnings = self.warnings.iter().map(String::as_str);
        self.comparison
            .unlike
            .then(|| warnings.clone().find(|text| text.starts_with(like::PREFIX)))
            .flatten()
    }

    /// Whether there is nothing to compare with: in no run of the baseline a call succeeded, and
    /// nothing is known to be worse or better.
    pub fn is_empty(&self) -> bool {
        let succeeded = |run: &ComparedRun| run.sample.attempted > run.sample.failed;
        let is_open = matches!(self.change(), Change::Inconclusive | Change::Unchanged);
        is_open && !self.baseline.iter().any(succeeded)
    }

    /// The comparison as JSON.
    pub fn to_json(&self) -> String {
        super::to_json(self)
    }

    /// Writes the comparison as JSON.
    pub fn write_json(&self, path: &Path) -> io::Result<()> {
        write_whole(path, self.to_json())
    }
}

/// The runs of both sides, gathered.
#[derive(Default)]
struct Sides {
    baseline: Gathered,
    current: Gathered,
    warnings: Vec<String>,
    losses: Vec<Loss>,
}

/// The runs of one side, and what each did.
#[derive(Default)]
struct Gathered {
    runs: Vec<ComparedRun>,
    setups: Vec<like::Setup>,
    /// What the first run did not call.
    skipped: Vec<SkippedTool>,
}

impl Gathered {
    fn add(&mut self, report: &Report, directory: Option<PathBuf>) -> ComparedRun {
        let run = ComparedRun {
            run_id: report.run_id.clone(),
            server: report.server_info.target.clone(),
            directory,
            partial: report.partial,
            sample: sample_of(report),
        };
        if self.runs.is_empty() {
            self.skipped.clone_from(&report.skipped_tools);
        }
        self.setups.push(like::Setup::of(report));
        self.runs.push(run.clone());
        run
    }
}

/// What makes the runs of a side less than they seem.
fn caveats(side: Side, runs: &[ComparedRun]) -> Vec<String> {
    let total = runs.len();
    let tell = |count: usize, what: &str| {
        (count > 0).then(|| format!("{count} of {total} {} runs {what}", side.name()))
    };
    let count = |is_so: fn(&ComparedRun) -> bool| runs.iter().filter(|run| is_so(run)).count();
    [
        tell(count(|run| run.partial), "ended early"),
        tell(
            count(|run| run.sample.attempted == run.sample.failed),
            "had no call that succeeded",
        ),
        tell(
            count(|run| run.sample.generator_limited),
            "were limited by mcprove itself, so their times do not count",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What a run measured, as a comparison sees it. The percentiles are those of the histogram,
/// however few calls it has: the unit of a comparison is the run, not the call.
pub fn sample_of(report: &Report) -> RunSample {
    let latency = &report.latency;
    let any = |duration| (latency.count > 0).then(|| as_milliseconds(duration));
    let throughput = &report.throughput;
    let attempted = throughput.total_requests;
    #[allow(clippy::cast_precision_loss)]
    let succeeded_share = if attempted == 0 {
        0.0
    } else {
        throughput.successful_requests as f64 / attempted as f64
    };
    RunSample {
        p50_ms: any(latency.p50),
        p95_ms: any(latency.p95),
        p99_ms: any(latency.p99),
        throughput_per_s: throughput.requests_per_sec * succeeded_share,
        attempted,
        failed: report.errors.total,
        deadlocks: report.deadlock_count.into(),
        hangs: report.hang_count.into(),
        generator_limited: report.generator.limited,
    }
}

#[cfg(test)]
mod tests;
