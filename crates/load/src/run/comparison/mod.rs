//! Whether one server is worse than another, or than it was: sets of runs, compared.
//!
//! The runs are recorded ones (`comparison/recorded.rs`), or made for the purpose, in turns
//! (`comparison/live.rs`). Each becomes a [`RunSample`]; what the samples say is decided by
//! [`mcprove_score::compare`].

mod comparability;
mod live;
mod recorded;

use crate::prelude::*;
use mcprove_score::compare::{self, Change, CompareLimits, Comparison, RunSample};
use mcprove_settings::whole_file::write_whole;

pub use live::{Comparer, ComparisonHandler, ComparisonProgress, order};
pub use recorded::compare_recorded;

/// Why runs could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A path is neither a run nor a directory of runs.
    #[error(
        "{path} holds no run: neither it nor a directory in it has a trace.jsonl or a metrics.json"
    )]
    NoRun {
        /// The path.
        path: String,
    },
    /// A directory could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A run of one side cannot be read, and the side has no other.
    #[error("{path} cannot be compared: {reason}")]
    Unreadable {
        /// Its directory.
        path: String,
        /// Why.
        reason: String,
    },
    /// A file of a run is of another version.
    #[error(transparent)]
    Format(FormatError),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Config(String),
    /// A run could not be made.
    #[error("run {number} of {count} on the {} server failed", side.name())]
    Run {
        /// Which server.
        side: Side,
        /// Which run, counted from 1.
        number: usize,
        /// How many there were to be on each side.
        count: usize,
        /// Why.
        source: Box<RunError>,
    },
    /// The comparison was stopped before each side had a run.
    #[error(
        "stopped before there was a whole run of each server ({baseline} of the baseline, {current} of the current one), so there is nothing to compare"
    )]
    Stopped {
        /// Whole runs of the baseline server.
        baseline: usize,
        /// Whole runs of the current one.
        current: usize,
        /// Where they are.
        directory: Option<PathBuf>,
    },
}

impl UserError for CompareError {
    fn text(&self) -> Message {
        match self {
            Self::Run { source, .. } => sentence!("{self}: {}", source.text()),
            _ => self.to_string().into(),
        }
    }

    fn hint(&self) -> Message {
        match self {
            Self::NoRun { .. } => {
                sentence!(
                    "give the directory of a run, or one that holds several; {} lists them",
                    command_or("runs", "mcprove::list_runs")
                )
            }
            Self::Io { .. } => "check the path and its permissions".into(),
            Self::Unreadable { .. } => "leave the run out, or make it again".into(),
            Self::Format(error) => error.hint(),
            Self::Config(_) => "compare directories of runs, or two servers".into(),
            Self::Run { source, .. } => source.hint(),
            Self::Stopped { directory, .. } => {
                let hint =
                    Message::from("let it go on for longer, or ask for fewer or shorter runs");
                match directory {
                    Some(it) => hint.then(format!("; what was run is in {}", it.display())),
                    None => hint,
                }
            }
        }
    }

    fn exit_code(&self) -> u8 {
        match self {
            Self::Stopped { .. } => 130,
            _ => 2,
        }
    }

    fn stderr(&self) -> &str {
        match self {
            Self::Run { source, .. } => source.stderr(),
            _ => "",
        }
    }
}

/// One of the two sides.
#[choice(Copy, Eq)]
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
#[data]
pub struct ComparedRun {
    /// Its ULID.
    pub run_id: String,
    /// The command or address.
    pub server: String,
    /// The scenario; earlier versions did not say.
    pub scenario: Option<String>,
    /// Where its files are; none if none were written.
    #[schemars(with = "Option<String>")]
    pub directory: Option<PathBuf>,
    /// Whether it ended before its time.
    pub partial: bool,
    /// What it measured.
    pub sample: RunSample,
}

/// A run that could not be made: its server did not start, or did not answer.
#[data(Eq)]
pub struct FailedRun {
    /// Which server.
    pub side: Side,
    /// Which run of it, counted from 1.
    pub number: usize,
    /// Why.
    pub reason: Message,
    /// Whether the second try succeeded, so that the run counts.
    pub is_made_up: bool,
}

/// The comparison of two sets of runs. Serialised it is of the format `comparison.v1`.
#[sparse]
#[data(open)]
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
    /// Runs that could not be made at once; each was tried twice.
    #[sparse]
    pub failed_runs: Vec<FailedRun>,
    /// Files of the runs and of the comparison that are not complete; its own is not in the file.
    #[sparse]
    pub losses: Vec<Loss>,
}

impl ComparisonReport {
    /// Compares the runs of both sides.
    fn new(
        [baseline, current]: [Gathered; 2],
        mut warnings: Vec<String>,
        limits: &CompareLimits,
    ) -> Self {
        let samples = |side: &Gathered| -> Vec<RunSample> {
            side.runs.iter().map(|run| run.sample.clone()).collect()
        };
        let mut comparison = compare::compare(&samples(&baseline), &samples(&current), limits);
        if let Some(differences) = comparability::differences(&baseline.setups, &current.setups) {
            if differences.is_other_load && !limits.unlike {
                comparison = comparison.undecided(sentence!("make the runs of both sides with the same scenario, tools and load, or give {} to compare them all the same", setting("unlike")));
            }
            warnings.insert(0, differences.warning);
        }
        warnings.extend(caveats(Side::Baseline, &baseline.runs));
        warnings.extend(caveats(Side::Current, &current.runs));
        let mut skipped_tools = [baseline.skipped, current.skipped].concat();
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
            partial: false,
            failed_runs: Vec::new(),
            losses: Vec::new(),
        }
    }

    /// All in all: regressed, improved, unchanged or inconclusive.
    pub fn change(&self) -> Change {
        self.comparison.change
    }

    /// How many warnings it has, where these make it fail.
    pub fn failing_warnings(&self) -> usize {
        match self.limits.fail_on {
            FailOn::Critical => 0,
            FailOn::Warning => self.warnings.len() + self.failed_runs.len(),
        }
    }

    /// What has a limit of its own and could not be judged, by name.
    pub fn inconclusive_gates(&self) -> Vec<&'static str> {
        let mut metrics = self.comparison.metrics.iter();
        let p99 = metrics.find(|found| found.metric == "p99_ms");
        let p99 = p99.map(|found| found.change);
        let errors = Some(self.comparison.errors.change);
        [
            ("p99", self.limits.p99_ratio, p99),
            ("errors", self.limits.error_rate_increase, errors),
        ]
        .into_iter()
        .filter(|(_, limit, change)| limit.is_some() && *change == Some(Change::Inconclusive))
        .map(|(name, ..)| name)
        .collect()
    }

    /// What could not be judged, by name.
    pub fn inconclusive_figures(&self) -> Vec<&str> {
        let Comparison {
            metrics,
            errors,
            deadlocks,
            hangs,
            ..
        } = &self.comparison;
        let metrics = metrics.iter().map(|it| (it.metric.as_str(), it.change));
        let others = [
            ("errors", errors.change),
            ("deadlocks", deadlocks.change),
            ("hangs", hangs.change),
        ];
        let all = metrics.chain(others);
        all.filter(|(_, change)| *change == Change::Inconclusive)
            .map(|(name, _)| name)
            .collect()
    }

    /// How many planned runs are missing on either side because they could not be made.
    pub fn runs_missing(&self) -> usize {
        self.failed_runs
            .iter()
            .filter(|run| !run.is_made_up)
            .count()
    }

    /// How many runs of both sides there were to be, without those that were not begun.
    pub fn runs_planned(&self) -> usize {
        self.baseline.len() + self.current.len() + self.runs_missing()
    }

    /// Why nothing is concluded, if the sides had different loads: what differs.
    pub fn unlike(&self) -> Option<&str> {
        let first = self.warnings.first().filter(|_| self.comparison.unlike);
        first.map(String::as_str)
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

/// The runs of one side, and what each did.
#[derive(Default)]
struct Gathered {
    runs: Vec<ComparedRun>,
    setups: Vec<comparability::LoadSetup>,
    /// What the first run did not call.
    skipped: Vec<SkippedTool>,
    /// Runs that were to be made so far, of which some may have failed.
    places: usize,
    /// How many of the last of them failed, one after the other.
    misses: usize,
}

impl Gathered {
    fn add(&mut self, report: &Report, directory: Option<PathBuf>) -> ComparedRun {
        let run = ComparedRun {
            run_id: report.run_id.clone(),
            server: report.server_info.target.clone(),
            scenario: Some(report.scenario_kind.name().to_owned()),
            directory,
            partial: report.partial,
            sample: sample_of(report),
        };
        if self.runs.is_empty() {
            self.skipped.clone_from(&report.skipped_tools);
        }
        self.setups.push(comparability::setup_of(report));
        self.runs.push(run.clone());
        run
    }
}

/// What makes the runs of a side less than they seem.
fn caveats(side: Side, runs: &[ComparedRun]) -> Vec<String> {
    type IsSo = fn(&ComparedRun) -> bool;
    let kinds: [(IsSo, &str); 3] = [
        (|run| run.partial, "ended early"),
        (
            |run| run.sample.attempted == run.sample.failed,
            "had no call that succeeded",
        ),
        (
            |run| run.sample.generator_limited,
            "were limited by mcprove itself, so their times do not count",
        ),
    ];
    kinds
        .into_iter()
        .filter_map(|(is_so, what)| {
            let count = runs.iter().filter(|run| is_so(run)).count();
            let (total, side) = (runs.len(), side.name());
            (count > 0).then(|| format!("{count} of {total} {side} runs {what}"))
        })
        .collect()
}

/// What a run measured, as a comparison sees it. The percentiles are those of the histogram,
/// however few calls it has: the unit of a comparison is the run, not the call.
pub fn sample_of(report: &Report) -> RunSample {
    let latency = &report.latency;
    let any = |duration| (latency.count > 0).then(|| as_milliseconds(duration));
    let throughput = &report.throughput;
    let attempted = throughput.total_requests;
    let succeeded = share(throughput.successful_requests, attempted);
    RunSample {
        p50_ms: any(latency.p50),
        p95_ms: any(latency.p95),
        p99_ms: any(latency.p99),
        throughput_per_s: throughput.requests_per_sec * succeeded.unwrap_or_default(),
        startup_ms: report.startup_ms,
        attempted: report.attempted(),
        // A late answer is one, and is counted as a hang.
        failed: report.errors.total.saturating_sub(report.late()),
        deadlocks: report.deadlock_count.into(),
        hangs: report.hang_count.into(),
        generator_limited: report.generator.limited,
    }
}

#[cfg(test)]
mod tests;
