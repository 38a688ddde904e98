//! A latency histogram as bars: one row per stretch, each as much longer than the
//! last, and both ends round numbers.

use crate::report::prelude::*;
use mcprove_document::block::{Bar, Bars};
use mcprove_document::figure;

/// How many stretches a decade may be divided into, the finest first.
const DIVISIONS: [u32; 8] = [80, 40, 20, 10, 5, 3, 2, 1];

/// A stretch of latency and how many calls fell into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bucket {
    /// Where it begins, in nanoseconds.
    pub from: f64,
    /// Where it ends.
    pub until: f64,
    /// Calls in it.
    pub count: u64,
    /// The percentiles in it.
    pub marks: Vec<&'static str>,
}

/// At most `rows` stretches that hold everything, each the same factor longer than the last, as
/// fine as round numbers allow. Empty ones between others are kept.
pub fn buckets(histogram: &Histogram<u64>, rows: usize) -> Vec<Bucket> {
    if histogram.is_empty() || rows == 0 {
        return Vec::new();
    }
    let (low, high) = (float(histogram.min().max(1)), float(histogram.max().max(1)));
    let bounds = DIVISIONS
        .into_iter()
        .map(|division| bounds(low, high, division))
        .find(|bounds| bounds.len() <= rows + 1)
        .unwrap_or_else(|| vec![low, high]);
    let mut buckets: Vec<Bucket> = bounds
        .iter()
        .zip(bounds.iter().skip(1))
        .map(|(from, until)| Bucket {
            from: *from,
            until: *until,
            count: 0,
            marks: Vec::new(),
        })
        .collect();
    for value in histogram.iter_recorded() {
        if let Some(bucket) = holder(&mut buckets, float(value.value_iterated_to())) {
            bucket.count += value.count_since_last_iteration();
        }
    }
    // A bound may lie within the precision of the smallest or largest value.
    let last = buckets.iter().rposition(|bucket| bucket.count > 0);
    buckets.truncate(last.map_or(0, |last| last + 1));
    let first = buckets.iter().position(|bucket| bucket.count > 0);
    buckets.drain(..first.unwrap_or(0));
    for (name, quantile) in headline::QUANTILES {
        if mcprove_score::percentile::is_supported(histogram.len(), quantile * 100.0)
            && let Some(bucket) = holder(&mut buckets, float(histogram.value_at_quantile(quantile)))
        {
            bucket.marks.push(name);
        }
    }
    buckets
}

/// The bucket that holds a value; the last one holds everything above.
fn holder(buckets: &mut [Bucket], value: f64) -> Option<&mut Bucket> {
    let place = buckets
        .partition_point(|bucket| bucket.until <= value)
        .min(buckets.len().checked_sub(1)?);
    buckets.get_mut(place)
}

/// Round numbers around everything from `low` to `high`, so many to a decade.
fn bounds(low: f64, high: f64, division: u32) -> Vec<f64> {
    let steps = f64::from(division);
    let mut index = (low.log10() * steps).floor();
    // Rounding may put a bound above the value that it should be below.
    while round_number(index, division) > low {
        index -= 1.0;
    }
    let mut bounds = vec![round_number(index, division)];
    let mut last = f64::MIN;
    while last <= high {
        index += 1.0;
        last = round_number(index, division);
        bounds.push(last);
    }
    bounds
}

/// The number at a place of a series: 1, 2, 5 for three to a decade, 1, 3 for two.
fn round_number(index: f64, division: u32) -> f64 {
    let steps = f64::from(division);
    let decade = (index / steps).floor();
    let place = index - decade * steps;
    let exact = 10_f64.powf(place / steps);
    let mantissa = match division {
        1..=3 => exact.round(),
        4..=10 => (exact * 10.0).round() / 10.0,
        _ => (exact * 100.0).round() / 100.0,
    };
    mantissa * 10_f64.powf(decade)
}

/// Latencies in nanoseconds as bars, at most `rows` of them.
pub fn histogram(histogram: &Histogram<u64>, rows: usize) -> Bars {
    let rows = buckets(histogram, rows).into_iter().map(|bucket| Bar {
        from: figure::milliseconds(bucket.from / 1e6),
        until: figure::milliseconds(bucket.until / 1e6),
        count: bucket.count,
        marks: bucket.marks,
    });
    Bars {
        title: "How long calls took",
        noun: "call",
        rows: rows.collect(),
    }
}
