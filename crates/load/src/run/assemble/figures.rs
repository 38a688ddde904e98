//! Small sums that several parts of a report need.

use std::time::Duration;

use mcprove_trace::ErrorCategory;
use mcprove_trace::stream::CallMetrics;

use crate::run::report::{ProcessSample, Report};

/// Failed calls, without those that we gave up ourselves.
pub(super) fn failures(calls: &CallMetrics) -> u64 {
    calls
        .errors
        .iter()
        .filter(|(category, _)| **category != ErrorCategory::Cancelled)
        .map(|(_, count)| count)
        .sum()
}

pub(super) fn samples(
    report: &Report,
    value: impl Fn(&ProcessSample) -> Option<f64>,
) -> Vec<(Duration, f64)> {
    report
        .process
        .samples
        .iter()
        .filter_map(|sample| Some((sample.at, value(sample)?)))
        .collect()
}

pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    #[allow(clippy::cast_precision_loss)]
    (whole > 0).then(|| part as f64 / whole as f64)
}

pub(super) fn per_second(count: u64, time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 {
        #[allow(clippy::cast_precision_loss)]
        let count = count as f64;
        count / seconds
    } else {
        0.0
    }
}
