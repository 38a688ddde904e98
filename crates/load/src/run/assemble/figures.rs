//! Small sums that several parts of a report need.

use crate::prelude::*;
use crate::run::report::{PhaseReport, ProcessSample};

pub(crate) fn samples(
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

pub(crate) fn per_second(count: u64, time: Duration) -> f64 {
    if time.is_zero() {
        return 0.0;
    }
    float(count) / time.as_secs_f64()
}

/// p99, or the maximum where there are too few calls for it.
pub(crate) fn tail_ms(phase: &PhaseReport) -> Option<f64> {
    let latency = &phase.latency_ms;
    latency
        .supported(0.99)
        .or(latency.slowest())
        .map(as_milliseconds)
}

/// How many values of a histogram stand for all of them where a detector wants values.
const QUANTILES: u32 = 200;

/// Values that stand for all of a histogram, in milliseconds: as many as there are, or evenly
/// spread ones where they are too many.
pub(crate) fn spread(calls: &CallMetrics) -> Vec<f64> {
    let histogram = &calls.latency_ns;
    let count = u32::try_from(histogram.len())
        .unwrap_or(u32::MAX)
        .min(QUANTILES);
    (0..count)
        .map(|place| (f64::from(place) + 0.5) / f64::from(count))
        .map(|quantile| Duration::from_nanos(histogram.value_at_quantile(quantile)))
        .map(as_milliseconds)
        .collect()
}
