//! What went wrong in two sets of runs, compared: error rates, deadlocks, hangs.

use super::metric::{self, Evidence};
use super::prelude::*;
use super::proportion::Estimate;

/// How much the error rate may have risen and still count as unchanged.
const UNCHANGED_RISE_MAX: f64 = 0.01;

/// Failed calls of two sets of runs, compared run by run.
#[data]
pub struct ErrorComparison {
    /// Error rate of all calls of the baseline with its Wilson interval; `None` without a call.
    pub baseline: Option<Estimate>,
    /// Error rate of the current runs.
    pub current: Option<Estimate>,
    /// Current minus baseline, with a 95 % interval: the wider of that of the runs (Hodges and
    /// Lehmann) and that of the calls (Newcombe).
    pub difference: Option<Estimate>,
    /// Two-sided p of the Mann-Whitney test of the error rates of the runs; `None` where all are
    /// the same.
    #[serde(default)]
    pub p_value: Option<f64>,
    /// The same, corrected for the number of figures tested.
    #[serde(default)]
    pub adjusted_p: Option<f64>,
    /// What it says.
    pub change: Change,
    /// The same, for people.
    pub sentence: String,
}

/// Something that should not happen at all, counted over all runs of a side.
#[data(Eq)]
pub struct CountComparison {
    /// Times in the baseline.
    pub baseline: u64,
    /// Times in the current runs.
    pub current: u64,
    /// What it says.
    pub change: Change,
    /// The same, for people.
    pub sentence: String,
}

fn total(runs: &[RunSample], read: fn(&RunSample) -> u64) -> u64 {
    runs.iter().map(read).fold(0, u64::saturating_add)
}

fn rate(runs: &[RunSample]) -> Option<Estimate> {
    proportion::wilson(
        total(runs, |run| run.failed),
        total(runs, |run| run.attempted),
    )
}

/// The error rates of the runs of both sides.
pub struct ErrorRates {
    before: Vec<f64>,
    after: Vec<f64>,
}

impl ErrorRates {
    pub fn of(baseline: &[RunSample], current: &[RunSample]) -> Self {
        let rates = |runs: &[RunSample]| -> Vec<f64> {
            let rates = runs
                .iter()
                .filter_map(|run| share(run.failed, run.attempted));
            rates.map(|rate| rate.min(1.0)).collect()
        };
        Self {
            before: rates(baseline),
            after: rates(current),
        }
    }

    /// p of the rank test. Where all runs have the same rate there is nothing to test, and the other
    /// figures are not corrected for it.
    pub fn p_value(&self) -> Option<f64> {
        let first = self.before.first()?;
        let mut all = self.before.iter().chain(&self.after);
        let is_same = all.all(|rate| rate.total_cmp(first).is_eq());
        let result = mann_whitney::test(&self.before, &self.after)?;
        (!is_same).then_some(result.p_value)
    }

    /// How the rates differ: the runs vary more than their calls, or too few runs show it.
    fn difference(&self, baseline: &Estimate, current: &Estimate) -> Estimate {
        let calls = proportion::difference(baseline, current);
        match metric::pair_interval(&self.before, &self.after, |before, after| after - before) {
            Some((low, high)) => Estimate {
                low: calls.low.min(low),
                high: calls.high.max(high),
                ..calls
            },
            None => calls,
        }
    }

    /// Whether no call of one side failed, and none of the other succeeded, in two runs each or
    /// more: a quota that is used up between the runs would have struck within one of them, or on
    /// both sides.
    fn is_all_or_nothing(&self) -> bool {
        let none = |rates: &[f64]| rates.len() > 1 && rates.iter().all(|rate| *rate <= 0.0);
        let all = |rates: &[f64]| rates.len() > 1 && rates.iter().all(|rate| *rate >= 1.0);
        (none(&self.before) && all(&self.after)) || (all(&self.before) && none(&self.after))
    }

    /// In how many runs calls failed.
    fn runs_struck(&self) -> String {
        let struck = |rates: &[f64]| rates.iter().filter(|rate| **rate > 0.0).count();
        let (before, after) = (struck(&self.before), struck(&self.after));
        let (runs_before, runs_after) = (self.before.len(), self.after.len());
        format!("in {before} of {runs_before} runs before, in {after} of {runs_after} now")
    }
}

/// The unit is the run: a rate limiter that strikes a few runs hard fails thousands of calls, none
/// independent of the others. More calls fail if the rates of the runs differ by the rank test, and
/// the interval of the difference lies beyond the limit.
pub fn errors(
    baseline: &[RunSample],
    current: &[RunSample],
    (rates, adjusted_p): (&ErrorRates, Option<f64>),
    limits: &CompareLimits,
) -> ErrorComparison {
    let mut comparison = ErrorComparison {
        baseline: rate(baseline),
        current: rate(current),
        difference: None,
        p_value: rates.p_value(),
        adjusted_p,
        change: Change::Inconclusive,
        sentence: "Error rates cannot be compared: a side made no call.".to_owned(),
    };
    let Some((one, other)) = comparison.baseline.zip(comparison.current) else {
        return comparison;
    };
    let difference = rates.difference(&one, &other);
    comparison.difference = Some(difference);
    if one.value <= 0.0 && other.value <= 0.0 {
        comparison.change = Change::Unchanged;
        "No call failed on either side.".clone_into(&mut comparison.sentence);
        return comparison;
    }
    let limit = limits.error_rate_increase.filter(|limit| !limit.is_nan());
    let evidence = Evidence::of(&rates.before, &rates.after);
    let is_certain = evidence.is_certain(adjusted_p) || rates.is_all_or_nothing();
    comparison.change = if is_certain && difference.low > limit.unwrap_or_default().max(0.0) {
        Change::Regressed
    } else if is_certain && difference.high < 0.0 {
        Change::Improved
    } else if evidence.is_enough() && difference.high <= limit.unwrap_or(UNCHANGED_RISE_MAX) {
        Change::Unchanged
    } else {
        Change::Inconclusive
    };
    let how = match comparison.change {
        Change::Regressed => "More calls fail",
        Change::Improved => "Fewer calls fail",
        Change::Unchanged => "Not more calls fail",
        Change::Inconclusive => "More or fewer calls may fail",
    };
    comparison.sentence = format!(
        "{how}: {} before, {} now ({}).",
        percent(one.value),
        percent(other.value),
        rates.runs_struck()
    );
    comparison
}

/// A deadlock is one too many, so every one above the baseline counts. With another number of runs
/// the baseline is scaled up to it.
pub fn deadlocks(baseline: &[RunSample], current: &[RunSample], allowed: u64) -> CountComparison {
    let before = total(baseline, |run| run.deadlocks);
    let after = total(current, |run| run.deadlocks);
    let runs = |side: &[RunSample]| u128::try_from(side.len()).unwrap_or(u128::MAX);
    let expected = match runs(baseline) {
        0 => u128::from(before),
        count => u128::from(before)
            .saturating_mul(runs(current).max(count))
            .div_ceil(count),
    };
    let is_new = u128::from(after) > expected.saturating_add(u128::from(allowed));
    count("deadlock", before, after, is_new)
}

/// How many current runs must have a hang where no run of the baseline has one: a call is late by chance too.
const HUNG_RUNS_MIN: usize = 2;

/// Hangs come and go with the load, so only their first appearance counts, in two runs at least.
pub fn hangs(baseline: &[RunSample], current: &[RunSample]) -> CountComparison {
    let before = total(baseline, |run| run.hangs);
    let after = total(current, |run| run.hangs);
    let hung = current.iter().filter(|run| run.hangs > 0).count();
    let is_new = before == 0 && after > 0;
    let mut comparison = count("hang", before, after, is_new);
    if is_new && hung < HUNG_RUNS_MIN {
        comparison.change = Change::Inconclusive;
        let runs = current.len();
        comparison.sentence = format!(
            "{after} in {hung} of {runs} runs now, 0 before: a second run with one would decide."
        );
    }
    comparison
}

fn count(noun: &str, baseline: u64, current: u64, is_new: bool) -> CountComparison {
    let (before, now) = (counted(baseline, noun), counted(current, noun));
    let (change, sentence) = match (is_new, baseline, current) {
        (true, _, _) => (Change::Regressed, format!("New: {now}, {before} before.")),
        (_, 0, 0) => (Change::Unchanged, format!("No {noun} on either side.")),
        (_, 1.., 0) => (
            Change::Improved,
            format!("No {noun} any more, {before} before."),
        ),
        _ => (
            Change::Unchanged,
            format!("Nothing new: {now}, {before} before."),
        ),
    };
    CountComparison {
        baseline,
        current,
        change,
        sentence,
    }
}
