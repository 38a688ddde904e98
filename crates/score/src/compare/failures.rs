//! What went wrong in two sets of runs, compared: error rates, deadlocks, hangs.

use super::prelude::*;
use super::proportion::Estimate;

/// How much the error rate may have risen and still count as unchanged.
const UNCHANGED_RISE_MAX: f64 = 0.01;

/// Failed calls of all runs of a side, compared.
#[data]
pub struct ErrorComparison {
    /// Error rate of the baseline with its Wilson interval; `None` without a call.
    pub baseline: Option<Estimate>,
    /// Error rate of the current runs.
    pub current: Option<Estimate>,
    /// Current minus baseline, with its Newcombe interval.
    pub difference: Option<Estimate>,
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

pub fn errors(
    baseline: &[RunSample],
    current: &[RunSample],
    limits: &CompareLimits,
) -> ErrorComparison {
    let mut comparison = ErrorComparison {
        baseline: rate(baseline),
        current: rate(current),
        difference: None,
        change: Change::Inconclusive,
        sentence: "Error rates cannot be compared: a side made no call.".to_owned(),
    };
    let Some((one, other)) = comparison.baseline.zip(comparison.current) else {
        return comparison;
    };
    let difference = proportion::difference(&one, &other);
    let limit = limits.error_rate_increase.filter(|limit| !limit.is_nan());
    comparison.difference = Some(difference);
    comparison.change = if difference.low > limit.unwrap_or_default().max(0.0) {
        Change::Regressed
    } else if difference.high < 0.0 {
        Change::Improved
    } else if difference.value <= 0.0 || difference.high <= limit.unwrap_or(UNCHANGED_RISE_MAX) {
        Change::Unchanged
    } else {
        Change::Inconclusive
    };
    let how = match comparison.change {
        Change::Regressed => "More",
        Change::Improved => "Fewer",
        Change::Unchanged => "Not more",
        Change::Inconclusive => "Perhaps more",
    };
    comparison.sentence = format!(
        "{how} calls fail: {} before, {} now.",
        percent(one.value),
        percent(other.value)
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

/// Hangs come and go with the load, so only their first appearance counts.
pub fn hangs(baseline: &[RunSample], current: &[RunSample]) -> CountComparison {
    let before = total(baseline, |run| run.hangs);
    let after = total(current, |run| run.hangs);
    count("hang", before, after, before == 0 && after > 0)
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
