//! The charts of a report: how latency is spread, how the run went over time, what the server's
//! processes used, and what more clients did.

use std::fmt::Write as _;

use hdrhistogram::Histogram;
use mcprove_document::figure;
use mcprove_document::html::{Chart, escape};

use crate::report::histogram::buckets;
use crate::run::Report;
use crate::run::report::{PhaseReport, ProcessSample};

/// Rows of the histogram.
const ROWS: usize = 16;
/// The most points of a line; more cannot be seen.
const POINTS_MAX: usize = 600;
/// Steps from which a ramp has a curve.
const STEPS_MIN: usize = 3;

/// A stretch of which less than this was load has too few calls for a rate.
const STRETCH_SHARE_MIN: f64 = 0.2;

const TIME: &str = "seconds since the start";

/// The size of the histogram, and of its rows, in its own units.
const HISTOGRAM_WIDTH: f64 = 480.0;
const ROW_HEIGHT: f64 = 22.0;
const BAR_LEFT: f64 = 166.0;
const BAR_RIGHT: f64 = 128.0;

/// How many calls took how long, as bars.
pub(super) fn histogram(histogram: &Histogram<u64>) -> String {
    let buckets = buckets(histogram, ROWS);
    let largest = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    let mut svg = String::new();
    let mut y = 0.0;
    for bucket in &buckets {
        let from = figure::milliseconds(bucket.from / 1e6);
        let until = figure::milliseconds(bucket.until / 1e6);
        let share = figure::rough_percent(figure::share(bucket.count, histogram.len()));
        let marks = bucket.marks.join(" ");
        let room = HISTOGRAM_WIDTH - BAR_LEFT - BAR_RIGHT;
        let mut width = figure::share(bucket.count, largest) * room;
        if bucket.count > 0 {
            width = width.max(1.0);
        }
        let text = y + 15.0;
        let _ = writeln!(
            svg,
            "<g><title>{from} to {until}: {count} ({share}) {marks}</title>\
             <text class=\"tick end\" x=\"{label:.1}\" y=\"{text:.1}\">{from} – {until}</text>\
             <rect class=\"series\" x=\"{BAR_LEFT}\" y=\"{bar:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\
             <text class=\"tick\" x=\"{after:.1}\" y=\"{text:.1}\">{share} <tspan class=\"strong\">{marks}</tspan></text></g>",
            count = figure::counted(bucket.count, "call"),
            label = BAR_LEFT - 8.0,
            bar = y + 3.0,
            height = ROW_HEIGHT - 6.0,
            after = BAR_LEFT + width + 6.0,
        );
        y += ROW_HEIGHT;
    }
    if buckets.is_empty() {
        return String::new();
    }
    format!(
        "<figure class=\"wide\">\n<figcaption>How long calls took</figcaption>\n\
         <svg viewBox=\"0 0 {HISTOGRAM_WIDTH} {y:.0}\" role=\"img\" aria-label=\"How long calls took\">\n\
         <title>Share of the successful calls by latency; each row is as much longer than the last</title>\n{svg}</svg>\n</figure>\n"
    )
}

/// Throughput, latency and errors over time.
pub(super) fn over_time(report: &Report) -> String {
    let throughput = &report.throughput;
    let width = stretch(report);
    let points: Vec<Point> = throughput
        .timeline
        .iter()
        .zip(&throughput.intervals)
        .map(|((offset, _), interval)| {
            let until = offset.as_secs_f64();
            // The load may have begun or ended within a stretch.
            let length = loaded(report, until - width, until);
            let is_enough = length >= width * STRETCH_SHARE_MIN;
            let per_second = |number: u64| is_enough.then(|| float(number) / length);
            Point {
                // Where it is on average.
                at: until - width / 2.0,
                completed: per_second(interval.completed),
                failed: per_second(interval.failed),
                mean_ms: interval.mean_ms.filter(|_| is_enough),
            }
        })
        .collect();
    let mut starts: Vec<f64> = measured(report)
        .iter()
        .skip(1)
        .map(|phase| phase.from.as_secs_f64())
        .collect();
    // And when faults began and ended.
    let impacts = report.faults.iter().flat_map(|faults| &faults.impacts);
    starts.extend(
        impacts.flat_map(|impact| [impact.from_secs, impact.until_secs].into_iter().flatten()),
    );
    let chart = |title, y_label, class, value: fn(&Point) -> Option<f64>| {
        Chart {
            title,
            x_label: TIME,
            y_label,
            class,
            points: thin(
                points
                    .iter()
                    .map(|point| (point.at, value(point)))
                    .collect(),
            ),
            marks: starts.clone(),
            from_zero: true,
        }
        .draw()
    };
    let mut charts = vec![
        chart("Throughput", "calls per second", "series", |point| {
            point.completed
        }),
        chart("Mean latency", "milliseconds", "series", |point| {
            point.mean_ms
        }),
    ];
    if report.errors.total > 0 {
        charts.push(chart("Errors", "failed calls per second", "bad", |point| {
            point.failed
        }));
    }
    let mut text = group(&charts);
    if report.faults.is_some() {
        text.push_str("<p>The dashed lines are where injected faults began and ended.</p>\n");
    }
    section("Over time", &text)
}

struct Point {
    at: f64,
    completed: Option<f64>,
    failed: Option<f64>,
    mean_ms: Option<f64>,
}

/// How long a stretch of the timeline is.
fn stretch(report: &Report) -> f64 {
    match report.throughput.timeline.as_slice() {
        [(first, _), (second, _), ..] => second.saturating_sub(*first).as_secs_f64(),
        _ => 1.0,
    }
}

/// How many of the seconds between `from` and `until` belong to the load that counts.
fn loaded(report: &Report, from: f64, until: f64) -> f64 {
    let overlap = |phase: &&PhaseReport| {
        let begin = phase.from.as_secs_f64();
        let end = begin + phase.duration.as_secs_f64();
        (end.min(until) - begin.max(from)).max(0.0)
    };
    measured(report).iter().map(overlap).sum()
}

/// What the server's processes used over time.
pub(super) fn process(report: &Report) -> String {
    let samples = &report.process.samples;
    let chart = |title, y_label, from_zero, value: fn(&ProcessSample) -> Option<f64>| {
        let points = samples
            .iter()
            .map(|sample| (sample.at.as_secs_f64(), value(sample)))
            .collect();
        Chart {
            title,
            x_label: TIME,
            y_label,
            class: "series",
            points: thin(points),
            marks: Vec::new(),
            from_zero,
        }
        .draw()
    };
    let charts = [
        chart("Memory", "RSS in MB", false, |sample| Some(sample.rss_mb)),
        chart("CPU", "% of one core", true, |sample| Some(sample.cpu_pct)),
        chart("Threads", "threads", true, |sample| {
            sample.threads.map(f64::from)
        }),
        chart("Descriptors", "open descriptors", true, |sample| {
            sample.descriptors.map(f64::from)
        }),
    ];
    group(&charts)
}

/// What more clients did, where a ramp had enough steps.
pub(super) fn by_concurrency(report: &Report) -> String {
    let steps = measured(report);
    let is_ramp = steps.windows(2).all(|pair| {
        pair.first().map(|step| step.concurrent) < pair.get(1).map(|step| step.concurrent)
    });
    if steps.len() < STEPS_MIN || !is_ramp {
        return String::new();
    }
    let breaks: Vec<f64> = report
        .breaking_point
        .iter()
        .map(|point| point.rate_per_s.unwrap_or(f64::from(point.concurrent)))
        .collect();
    let chart = |title, y_label, class, value: fn(&PhaseReport) -> Option<f64>| {
        let points = steps
            .iter()
            .map(|step| (step.rate.unwrap_or(f64::from(step.concurrent)), value(step)))
            .collect();
        Chart {
            title,
            x_label: if report.rate.is_some() {
                "scheduled calls per second"
            } else {
                "calls in flight"
            },
            y_label,
            class,
            points: thin(points),
            marks: breaks.clone(),
            from_zero: true,
        }
        .draw()
    };
    let mut charts = vec![
        chart("Throughput by load", "calls per second", "series", |step| {
            Some(step.requests_per_sec)
        }),
        chart(
            "Tail latency by load",
            "p99 (or slowest) in ms",
            "series",
            |step| {
                let latency = &step.latency_ms;
                let tail = latency.supported(0.99).or(latency.slowest());
                tail.map(mcprove_settings::quantity::as_milliseconds)
            },
        ),
    ];
    if steps.iter().any(|step| step.failed > 0) {
        charts.push(chart(
            "Errors by load",
            "% of calls failed",
            "bad",
            |step| Some(figure::share(step.failed, step.count) * 100.0),
        ));
    }
    let mut text = group(&charts);
    if let Some(point) = &report.breaking_point {
        let _ = writeln!(
            text,
            "<p>The dashed line is the breaking point: {}.</p>",
            point.load()
        );
    }
    text
}

fn measured(report: &Report) -> Vec<&PhaseReport> {
    report
        .phases
        .iter()
        .filter(|phase| phase.measured)
        .collect()
}

/// Every few points, and the last, so that there are not too many.
fn thin(points: Vec<(f64, Option<f64>)>) -> Vec<(f64, Option<f64>)> {
    let every = points.len().div_ceil(POINTS_MAX).max(1);
    let Some(last) = points.len().checked_sub(1) else {
        return points;
    };
    points
        .into_iter()
        .enumerate()
        .filter(|(index, _)| (last - index).is_multiple_of(every))
        .map(|(_, point)| point)
        .collect()
}

fn group(charts: &[String]) -> String {
    let drawn: String = charts.concat();
    if drawn.is_empty() {
        return drawn;
    }
    format!("<div class=\"charts\">\n{drawn}</div>\n")
}

fn section(title: &str, drawn: &str) -> String {
    if drawn.is_empty() {
        return String::new();
    }
    format!("<section>\n<h2>{}</h2>\n{drawn}</section>\n", escape(title))
}

/// Counts stay far below 2^53.
#[allow(clippy::cast_precision_loss)]
fn float(number: u64) -> f64 {
    number as f64
}
