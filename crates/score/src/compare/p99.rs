//! p99, compared only where the user set a limit: it rests on few calls, and differs from run to
//! run more than the others.

use super::metric::{Metric, MetricComparison, evidence_note, measure, ratio_text};
use super::{Change, FEW_RUNS_RATIO_MIN, RunSample, is_single};
use crate::percentile;

const P99: Metric = Metric::latency("p99_ms", "p99", |run| run.p99_ms);

/// A limit is broken when the whole interval of the ratio lies beyond it.
pub fn compare(baseline: &[RunSample], current: &[RunSample], limit: f64) -> MetricComparison {
    // Ten calls beyond it, over all runs of a side: fewer are luck.
    let is_supported = [baseline, current]
        .into_iter()
        .all(|runs| percentile::is_supported(succeeded(runs), 99.0));
    let (mut comparison, few) = if is_supported {
        measure(&P99, baseline, current)
    } else {
        measure(&P99, &[], &[])
    };
    match comparison.baseline_median.zip(comparison.current_median) {
        Some((before, after)) if !limit.is_nan() => {
            let is_certain = match few {
                None => comparison.ratio_low.is_some_and(|low| low > limit),
                Some(is_separated) => {
                    is_separated && P99.is_worse_by(before, after, FEW_RUNS_RATIO_MIN)
                }
            };
            let (change, verb) = match (after > before * limit, is_certain) {
                (false, _) => (Change::Unchanged, "stays within"),
                (true, true) => (Change::Regressed, "exceeds"),
                (true, false) => (Change::Inconclusive, "may exceed"),
            };
            comparison.change = change;
            comparison.sentence = format!(
                "p99 {verb} the allowed ratio of {}: {} before, {} now{}{}.",
                crate::prelude::decimal(limit, 3),
                P99.text(before),
                P99.text(after),
                ratio_text(&comparison),
                evidence_note(few, is_single(baseline, current))
            );
        }
        _ if !is_supported => {
            "p99 says nothing: it needs 1000 successful calls a side."
                .clone_into(&mut comparison.sentence);
        }
        _ => "p99 was not measured on both sides.".clone_into(&mut comparison.sentence),
    }
    comparison
}

fn succeeded(runs: &[RunSample]) -> u64 {
    runs.iter()
        .map(|run| run.attempted.saturating_sub(run.failed))
        .fold(0, u64::saturating_add)
}
