//! Whether one set of runs is worse than another (rule 7 of measurement).
//!
//! The unit is the run, not the call: on identical servers, tests on single calls raise an alarm
//! more often than not. p50, p95, throughput and the error rate of each run are tested with
//! [`mann_whitney`], corrected for being several by Holm (`metric::adjust`). A regression needs p < 0.05
//! (0.01 if the runs of the sides overlap) **and** a ratio of medians of at least 1.05; unchanged is an
//! interval of the ratio within ±5 %; everything else is inconclusive, with the number of runs to
//! try. So is a comparison of so few runs that no test could be certain (below five). For error
//! rates the interval of the difference has to lie beyond the limit, by the runs and by the calls
//! ([`proportion`]). New deadlocks or hangs need no statistics.
//!
//! The interval of the ratio is that of Hodges and Lehmann: the ratios of all pairs of runs in
//! order, cut at the ranks that the Mann-Whitney distribution gives for 95 %.

mod failures;
pub mod mann_whitney;
mod metric;
pub mod proportion;

use crate::prelude::*;

pub use failures::{CountComparison, ErrorComparison};
pub use metric::MetricComparison;

use failures::ErrorRates;

/// What the files here share.
mod prelude {
    pub use super::*;
}

/// p below which a difference is no accident, if all runs of one side lie beyond all of the other.
pub const P_MAX: f64 = 0.05;
/// The same for runs that overlap.
pub const P_OVERLAPPING_MAX: f64 = 0.01;
/// Ratio of medians from which a difference matters.
pub const RATIO_MIN: f64 = 1.05;
/// Runs a side that are tried when there are too few for a test.
pub const RUNS_DEFAULT: usize = 8;
/// Runs a side beyond which more would not help.
pub const RUNS_MAX: usize = 64;

/// What one run measured.
#[data(Default)]
pub struct RunSample {
    /// Median latency; `None` where there are too few calls for it.
    pub p50_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// Successful calls per second.
    pub throughput_per_s: f64,
    /// The median time to a finished handshake; not known to earlier versions.
    #[serde(default)]
    pub startup_ms: Option<f64>,
    /// Calls made.
    pub attempted: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls never answered.
    pub deadlocks: u64,
    /// Calls answered only within the grace period.
    pub hangs: u64,
    /// Whether the load generator was the limit: then the times are its own, not the server's, and
    /// only the failures count.
    #[serde(default)]
    pub generator_limited: bool,
}

/// What the user allows. The default sets no limit of its own on p99 and on errors, so that only
/// what is statistically worse fails, and allows no new deadlock.
#[data(Default)]
pub struct CompareLimits {
    /// The largest ratio of median p99 that is allowed; `None` does not look at p99. It is broken
    /// when the interval of the ratio lies beyond it.
    pub p99_ratio: Option<f64>,
    /// How much the error rate may rise, as a fraction; `None` allows no rise that is certain.
    pub error_rate_increase: Option<f64>,
    /// How many more deadlocks are allowed.
    pub new_deadlocks: u64,
    /// Whether runs with different loads may be compared.
    #[serde(default)]
    pub unlike: bool,
    /// Whether warnings make a comparison fail, too; left out where they do not.
    #[serde(default, skip_serializing_if = "FailOn::is_default")]
    pub fail_on: FailOn,
}

/// How the current runs relate to the baseline.
#[choice(Copy, Eq, Hash)]
pub enum Change {
    /// Worse.
    Regressed,
    /// Better.
    Improved,
    /// The same, within 5 %.
    Unchanged,
    /// The runs do not say.
    Inconclusive,
}

/// The comparison of two sets of runs.
#[data]
pub struct Comparison {
    /// All in all: regressed if anything is, else inconclusive if anything is, else improved if
    /// anything is.
    pub change: Change,
    /// p50, p95 and throughput, and p99 where it has a limit.
    pub metrics: Vec<MetricComparison>,
    /// Error rates.
    pub errors: ErrorComparison,
    /// Calls never answered.
    pub deadlocks: CountComparison,
    /// Calls answered late.
    pub hangs: CountComparison,
    /// Whether a side has only one run.
    pub single_run: bool,
    /// Runs of the baseline, and current ones.
    pub runs: (usize, usize),
    /// What to try when it is inconclusive.
    pub advice: Option<Message>,
    /// Whether nothing is concluded because the runs are not like for like.
    #[serde(default)]
    pub unlike: bool,
}

/// What is said of everything in runs that are not like for like.
const UNLIKE: &str = "Not judged: the runs are not like for like.";

/// Compares current runs with a baseline.
pub fn compare(
    baseline: &[RunSample],
    current: &[RunSample],
    limits: &CompareLimits,
) -> Comparison {
    let rates = ErrorRates::of(baseline, current);
    let (mut metrics, errors_p) = metric::compare_all(baseline, current, rates.p_value());
    if let Some(limit) = limits.p99_ratio {
        metrics.push(metric::compare(baseline, current, limit));
    }
    let errors = failures::errors(baseline, current, (&rates, errors_p), limits);
    let deadlocks = failures::deadlocks(baseline, current, limits.new_deadlocks);
    let hangs = failures::hangs(baseline, current);
    let changes: Vec<Change> = metrics
        .iter()
        .filter(|metric| !metric.is_open_startup())
        .map(|metric| metric.change)
        .chain([errors.change, deadlocks.change, hangs.change])
        .collect();
    let change = [Change::Regressed, Change::Inconclusive, Change::Improved]
        .into_iter()
        .find(|change| changes.contains(change))
        .unwrap_or(Change::Unchanged);
    Comparison {
        change,
        advice: (change == Change::Inconclusive).then(|| advice(baseline, current, &metrics)),
        metrics,
        errors,
        deadlocks,
        hangs,
        single_run: is_single(baseline, current),
        runs: (baseline.len(), current.len()),
        unlike: false,
    }
}

impl Comparison {
    /// Whether no time and no rate could be judged, and nothing else is known to differ: what did
    /// not fail on either side says nothing by itself.
    pub fn decides_nothing(&self) -> bool {
        let counts = [&self.deadlocks, &self.hangs].map(|counts| counts.change);
        let others = [&[self.errors.change], counts.as_slice()].concat();
        let is_open = |change: &Change| *change == Change::Inconclusive;
        let mut of_load = self.metrics.iter().filter(|metric| !metric.is_startup());
        is_open(&self.change)
            && of_load.all(|metric| is_open(&metric.change))
            && !others.contains(&Change::Improved)
    }

    /// The same numbers of runs that are not like for like: whatever differs may come from the
    /// load, so that nothing is concluded.
    pub fn undecided(mut self, advice: impl Into<Message>) -> Self {
        let all = self
            .metrics
            .iter_mut()
            .map(|metric| (&mut metric.change, &mut metric.sentence))
            .chain([
                (&mut self.errors.change, &mut self.errors.sentence),
                (&mut self.deadlocks.change, &mut self.deadlocks.sentence),
                (&mut self.hangs.change, &mut self.hangs.sentence),
            ]);
        for (change, sentence) in all {
            *change = Change::Inconclusive;
            UNLIKE.clone_into(sentence);
        }
        self.change = Change::Inconclusive;
        self.advice = Some(advice.into());
        self.unlike = true;
        self
    }
}

fn is_single(baseline: &[RunSample], current: &[RunSample]) -> bool {
    baseline.len().min(current.len()) == 1
}

fn advice(baseline: &[RunSample], current: &[RunSample], metrics: &[MetricComparison]) -> Message {
    let runs = baseline.len().min(current.len());
    if runs == 0 {
        let runs = RUNS_DEFAULT.to_string();
        let what = format!("there is nothing to compare on one side: make {runs} runs of each (");
        return sentence!("{what}{})", assignment("runs", runs));
    }
    let is_limited = |run: &&RunSample| run.generator_limited;
    let limited = baseline.iter().chain(current).filter(is_limited).count();
    if limited > 0 {
        let runs = baseline.len() + current.len();
        return sentence!(
            "mcprove itself was the limit in {limited} of {runs} runs, which do not count: lower {} or {}, or free \
             the machine of other work",
            setting("concurrent"),
            setting("rate")
        );
    }
    let is_unmeasured = |metric: &&MetricComparison| {
        metric.baseline_median.is_none() || metric.current_median.is_none()
    };
    let unmeasured: Vec<&str> = metrics
        .iter()
        .filter(is_unmeasured)
        .map(|metric| metric.metric.as_str())
        .collect();
    if !unmeasured.is_empty() {
        let names = quoted_names(&unmeasured);
        return sentence!("make more calls in each run: there are too few for {names}");
    }
    let wanted = metrics
        .iter()
        .filter(|metric| metric.change == Change::Inconclusive)
        .map(|metric| metric.runs_to_try(runs))
        .max()
        .unwrap_or_else(|| (runs * 2).clamp(RUNS_DEFAULT, RUNS_MAX));
    if runs >= RUNS_MAX {
        return "the runs differ too much among themselves: make them longer, or free the machine of other work".into();
    }
    sentence!(
        "compare more runs: {}",
        assignment("runs", wanted.to_string())
    )
}

#[cfg(test)]
mod tests;
