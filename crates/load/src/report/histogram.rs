//! A latency histogram drawn with characters: one row per stretch, each as much longer than the
//! last, and both ends round numbers.

use std::fmt::Write as _;

use hdrhistogram::Histogram;
use mcprove_document::figure;
use mcprove_document::style::Style;
use mcprove_document::table::cut;
use unicode_width::UnicodeWidthStr;

/// A bar is at least this long, whatever the width.
const BAR_MIN: usize = 8;
/// How many stretches a decade may be divided into, the finest first.
const DIVISIONS: [u32; 8] = [80, 40, 20, 10, 5, 3, 2, 1];
/// The percentiles that are shown at their rows.
const MARKS: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];
/// Columns for two marks beside a bar.
const MARKS_WIDTH: usize = 9;
/// Parts of a block character, from one eighth to all of it.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// A stretch of latency and how many calls fell into it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bucket {
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
pub(super) fn buckets(histogram: &Histogram<u64>, rows: usize) -> Vec<Bucket> {
    if histogram.is_empty() || rows == 0 {
        return Vec::new();
    }
    let (low, high) = (float(histogram.min().max(1)), float(histogram.max().max(1)));
    let mut buckets = DIVISIONS
        .into_iter()
        .map(|division| bounds(low, high, division))
        .find(|bounds| bounds.len() <= rows + 1)
        .unwrap_or_else(|| vec![low, high])
        .windows(2)
        .filter_map(|pair| match pair {
            [from, until] => Some(Bucket {
                from: *from,
                until: *until,
                count: 0,
                marks: Vec::new(),
            }),
            _ => None,
        })
        .collect::<Vec<_>>();
    for value in histogram.iter_recorded() {
        if let Some(bucket) = holder(&mut buckets, float(value.value_iterated_to())) {
            bucket.count += value.count_since_last_iteration();
        }
    }
    // A bound may lie within the precision of the smallest or largest value.
    let is_empty = |bucket: Option<&Bucket>| bucket.is_some_and(|bucket| bucket.count == 0);
    while is_empty(buckets.last()) {
        buckets.pop();
    }
    let first = buckets.iter().position(|bucket| bucket.count > 0);
    buckets.drain(..first.unwrap_or(0));
    for (name, quantile) in MARKS {
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
    let place = buckets.partition_point(|bucket| bucket.until <= value);
    let place = place.min(buckets.len().checked_sub(1)?);
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

/// Latencies in nanoseconds as bars, at most `rows` of them, in `style.width` columns; empty
/// without a call.
///
/// ```
/// use hdrhistogram::Histogram;
/// use mcprove_document::style::Style;
/// use mcprove_load::report::histogram_text;
///
/// let mut histogram = Histogram::<u64>::new(3).unwrap();
/// histogram.record_n(1_500_000, 3).unwrap();
/// histogram.record_n(30_000_000, 1).unwrap();
/// let text = histogram_text(&histogram, 4, Style::plain(60));
/// assert_eq!(text.lines().count(), 4);
/// assert!(text.contains("3  75.0%  ####"), "{text}");
/// ```
pub fn histogram_text(histogram: &Histogram<u64>, rows: usize, style: Style) -> String {
    let buckets = buckets(histogram, rows);
    let total = histogram.len();
    let largest = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    let labels: Vec<[String; 4]> = buckets
        .iter()
        .map(|bucket| {
            [
                figure::milliseconds(bucket.from / 1e6),
                figure::milliseconds(bucket.until / 1e6),
                figure::count(bucket.count),
                figure::rough_percent(figure::share(bucket.count, total)),
            ]
        })
        .collect();
    let widths: [usize; 4] = std::array::from_fn(|column| {
        let cells = labels.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or(0)
    });
    // The cells, two spaces before each, one dash between the first two.
    let beside = widths.iter().sum::<usize>() + 2 + 3 + 2 + 2 + 2;
    let room = style
        .width
        .saturating_sub(beside + MARKS_WIDTH)
        .max(BAR_MIN);
    let mut text = String::new();
    for (bucket, [from, until, count, percent]) in buckets.iter().zip(&labels) {
        let [from_width, until_width, count_width, percent_width] = widths;
        let mut line = String::new();
        let _ = write!(
            line,
            "  {from:>from_width$} – {until:>until_width$}  {count:>count_width$}  {percent:>percent_width$}  {}",
            bar(bucket.count, largest, room, style.unicode)
        );
        if !bucket.marks.is_empty() {
            let _ = write!(line, " {}", bucket.marks.join(" "));
        }
        // On a very narrow screen the end of a bar says less than a broken line would.
        text.push_str(&cut(line.trim_end(), style.width));
        text.push('\n');
    }
    text
}

/// A bar; whatever is more than nothing shows.
fn bar(count: u64, largest: u64, room: usize, unicode: bool) -> String {
    if count == 0 || largest == 0 {
        return String::new();
    }
    let parts = if unicode { EIGHTHS.len() } else { 1 };
    let most = u128::try_from(room * parts).unwrap_or(u128::MAX);
    let length = (u128::from(count) * most).div_ceil(u128::from(largest));
    let length = usize::try_from(length).unwrap_or(room);
    let whole = length / parts;
    let mut bar = String::new();
    bar.extend(std::iter::repeat_n(if unicode { '█' } else { '#' }, whole));
    if let Some(rest) = (length % parts).checked_sub(1)
        && let Some(part) = EIGHTHS.get(rest)
    {
        bar.push(*part);
    }
    bar
}

/// Nanoseconds as a floating-point number; a histogram has three digits, a double sixteen.
#[allow(clippy::cast_precision_loss)]
fn float(nanoseconds: u64) -> f64 {
    nanoseconds as f64
}
