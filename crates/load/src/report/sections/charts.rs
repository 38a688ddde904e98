//! The charts of a report: how the run went over time, what the server's processes used, and what more
//! clients did.

use crate::report::prelude::*;

/// The most points of a line; more cannot be seen.
const POINTS_MAX: usize = 600;
/// Steps from which a ramp has a curve.
const STEPS_MIN: usize = 3;

/// A stretch of which less than this was load has too few calls for a rate.
const STRETCH_SHARE_MIN: f64 = 0.2;

const TIME: &str = "seconds since the start";

/// Throughput, latency and errors over time.
pub fn over_time(report: &Report) -> Section {
    let throughput = &report.throughput;
    let width = stretch(report);
    // When, and how many were completed and failed per second, and how long they took.
    let points: Vec<(f64, [Option<f64>; 3])> = throughput
        .timeline
        .iter()
        .zip(&throughput.intervals)
        .map(|((offset, _), interval)| {
            let until = offset.as_secs_f64();
            let length = loaded(report, until - width, until);
            let is_enough = length >= width * STRETCH_SHARE_MIN;
            let [completed, failed] = [interval.completed, interval.failed]
                .map(|number| is_enough.then(|| float(number) / length));
            let mean_ms = interval.mean_ms.filter(|_| is_enough);
            (until - width / 2.0, [completed, failed, mean_ms])
        })
        .collect();
    let phases = measured(report)
        .into_iter()
        .skip(1)
        .map(|phase| phase.from.as_secs_f64());
    let faults = report
        .faults
        .iter()
        .flat_map(|faults| &faults.impacts)
        .flat_map(|impact| [impact.from_secs, impact.until_secs]);
    let starts: Vec<f64> = phases.chain(faults.flatten()).collect();
    let marked = match report.faults {
        Some(_) => "injected faults begin and end",
        None => "a phase begins",
    };
    let chart = |title, y_label, tone, which: usize| {
        let points = points
            .iter()
            .map(|(at, values)| (*at, values.get(which).copied().flatten()));
        Block::Chart(Chart {
            tone,
            marks: starts.clone(),
            marked: marked.to_owned(),
            ..plain(title, (TIME, y_label), points.collect())
        })
    };
    let section = Section::new("Over time")
        .block(chart("Throughput", "calls per second", Tone::Neutral, 0))
        .block(chart("Mean latency", "milliseconds", Tone::Neutral, 2));
    if report.errors.total == report.errors.starts {
        return section;
    }
    section.block(chart("Errors", "failed calls per second", Tone::Bad, 1))
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
pub fn process(report: &Report) -> Vec<Block> {
    let samples = &report.process.samples;
    let chart = |title, y_label, from_zero, value: fn(&ProcessSample) -> Option<f64>| {
        let points = samples
            .iter()
            .map(|sample| (sample.at.as_secs_f64(), value(sample)));
        Block::Chart(Chart {
            from_zero,
            ..plain(title, (TIME, y_label), points.collect())
        })
    };
    vec![
        chart("Memory", "RSS in MB", false, |sample| Some(sample.rss_mb)),
        chart("CPU", "% of one core", true, |sample| Some(sample.cpu_pct)),
        chart("Threads", "threads", true, |sample| {
            sample.threads.map(f64::from)
        }),
        chart("Descriptors", "open descriptors", true, |sample| {
            sample.descriptors.map(f64::from)
        }),
    ]
}

/// What more clients did, where a ramp had enough steps.
pub fn by_concurrency(report: &Report) -> Vec<Block> {
    let steps = measured(report);
    let is_ramp = steps.windows(2).all(|pair| {
        pair.first().map(|step| step.concurrent) < pair.get(1).map(|step| step.concurrent)
    });
    if steps.len() < STEPS_MIN || !is_ramp {
        return Vec::new();
    }
    let breaking = report.breaking_point.as_ref();
    let x_label = match report.rate {
        Some(_) => "scheduled calls per second",
        None => "calls in flight",
    };
    let chart = |title, y_label, tone, value: fn(&PhaseReport) -> Option<f64>| {
        let points = steps
            .iter()
            .map(|step| (step.rate.unwrap_or(step.concurrent.into()), value(step)));
        let breaks = breaking.map(|point| point.rate_per_s.unwrap_or(point.concurrent.into()));
        let marked = breaking.map(|point| format!("the breaking point, {}", point.load()));
        Block::Chart(Chart {
            tone,
            marks: breaks.into_iter().collect(),
            marked: marked.unwrap_or_default(),
            ..plain(title, (x_label, y_label), points.collect())
        })
    };
    let mut charts = vec![
        chart(
            "Throughput by load",
            "calls per second",
            Tone::Neutral,
            |step| Some(step.requests_per_sec),
        ),
        chart(
            "Tail latency by load",
            "p99 (or slowest) in ms",
            Tone::Neutral,
            tail_ms,
        ),
    ];
    if steps.iter().any(|step| step.failed > 0) {
        charts.push(chart(
            "Errors by load",
            "% of calls failed",
            Tone::Bad,
            |step| Some(figure::share(step.failed, step.count) * 100.0),
        ));
    }
    charts
}

fn measured(report: &Report) -> Vec<&PhaseReport> {
    report
        .phases
        .iter()
        .filter(|phase| phase.measured)
        .collect()
}

/// A chart without marks, of every few points, and the last, so that there are not too many.
fn plain(
    title: &'static str,
    (x_label, y_label): (&'static str, &'static str),
    points: Vec<(f64, Option<f64>)>,
) -> Chart {
    let every = points.len().div_ceil(POINTS_MAX).max(1);
    let skipped = points.len().saturating_sub(1) % every;
    Chart {
        title,
        x_label,
        y_label,
        tone: Tone::Neutral,
        points: points.into_iter().skip(skipped).step_by(every).collect(),
        marks: Vec::new(),
        marked: String::new(),
        from_zero: true,
    }
}
