//! What was measured: counts, latency, phases, tools, errors, processes.

use mcprove_score::percentile;
use mcprove_score::threshold::ThresholdKind::{P50Latency, P95Latency, P99Latency, P999Latency};

use super::charts;
use crate::report::histogram::histogram;
use crate::report::prelude::*;

/// Rows of the histogram.
const LATENCY_ROWS: usize = 10;
/// Calls below which a histogram says nothing.
const HISTOGRAM_CALLS_MIN: u64 = 20;
/// Rows of a table on a terminal.
const ROWS_MAX: usize = 10;
/// How many of the slowest calls a terminal shows.
const SLOWEST_MAX: usize = 3;

/// How many calls there were, and what became of them.
pub fn summary(report: &Report) -> Section {
    let throughput = &report.throughput;
    let latency = &report.latency;
    let mut figures = vec![
        Figure::new("Total requests", count(throughput.total_requests))
            .bad_if(throughput.successful_requests == 0),
        Figure::new("Duration", format!("{:.1}s", report.duration.as_secs_f64())),
        Figure::new(
            "Throughput",
            format!("{} req/s", rate(throughput.requests_per_sec)),
        ),
        Figure::new("Error rate", headline::error_rate(report)).bad_if(report.errors.total > 0),
        Figure::new("Deadlocks", report.deadlock_count).bad_if(report.deadlock_count > 0),
        Figure::new("Hangs", report.hang_count).bad_if(report.hang_count > 0),
    ];
    if latency.count > 0 {
        let quantiles = headline::QUANTILES.iter();
        figures.extend(
            quantiles.map(|(name, at)| Figure::new(name, headline::quantile(latency, *at))),
        );
        figures.push(Figure::new("Slowest", headline::slowest(latency)));
    }
    let warmup = report.warmup.as_ref().map_or(0, |warmup| warmup.count);
    let further = [
        (
            "Server processes that ended",
            u64::from(report.crash_count),
            true,
        ),
        ("Sessions replaced", u64::from(report.reconnect_count), true),
        ("Dropped (could not start in time)", report.dropped, true),
        (
            "In flight when the load ended",
            report.in_flight_at_end,
            false,
        ),
        ("Out of range of the histogram", report.out_of_range, true),
        ("Warm-up, not counted", warmup, false),
    ]
    .into_iter()
    .filter(|(_, number, _)| *number > 0);
    figures.extend(
        further.map(|(name, number, is_bad)| Figure::new(name, count(number)).bad_if(is_bad)),
    );
    if !report.process.samples.is_empty() {
        figures.push(Figure::new(
            "Peak RSS",
            megabytes(report.process.peak_rss_mb),
        ));
    }
    if !report.coverage.missing.is_empty() {
        figures.push(Figure::new("Coverage", report.coverage.line()));
    }
    let grade = report.grades.overall;
    figures.extend(grade.map(|grade| Figure::new("Grade", format!("{grade:?}"))));
    Section::new("Summary").block(Block::Figures(figures))
}

/// Percentiles and histogram.
pub fn latency(report: &Report) -> Section {
    let stats = &report.latency;
    if stats.count == 0 {
        let section = Section::new("Latency");
        return section
            .paragraph("No call succeeded, so there is no latency.")
            .detail();
    }
    let is_violated = |limit| {
        let mut violations = report.threshold_violations.iter();
        violations.any(|it| it.tool.is_none() && it.metric == limit)
    };
    let mut table = Table::new(["p50", "p95", "p99", "p999", "max"]);
    let limits = [P50Latency, P95Latency, P99Latency, P999Latency];
    let cells = headline::QUANTILES
        .iter()
        .zip(limits)
        .map(|((_, quantile), limit)| {
            let text = headline::quantile(stats, *quantile);
            if is_violated(limit) {
                Line::strong(text)
            } else {
                text.into()
            }
        });
    table
        .rows
        .push(cells.chain([headline::slowest(stats).into()]).collect());
    let mut section = Section::new("Latency").table(table).detail();
    if let Some(note) = percentile_note(stats) {
        section = section.paragraph(note);
    }
    let bars = Block::Bars(histogram(&stats.histogram, LATENCY_ROWS));
    let bars = Section::default().block(bars);
    section = section.with(bars.detail_if(stats.count < HISTOGRAM_CALLS_MIN));
    let mut others = Table::new(["Latency of", "count", "p50", "p95", "p99", "max"]);
    for (name, other) in [
        (
            "the same calls, from the moment of sending",
            report.service.as_ref(),
        ),
        (
            "failed calls, until they failed",
            Some(&report.failed).filter(|failed| failed.count > 0),
        ),
        ("the warm-up, not counted", report.warmup.as_ref()),
        ("calls made one at a time", report.alone.as_ref()),
    ] {
        if let Some(other) = other {
            let [p50, p95, p99, max] = quantiles(other);
            others.push(cells![name, count(other.count), p50, p95, p99, max]);
        }
    }
    section.with(Section::default().table(others).detail())
}

/// Why some percentiles are not shown.
fn percentile_note(stats: &LatencyStats) -> Option<String> {
    let (name, quantile) = headline::QUANTILES
        .iter()
        .find(|(_, at)| stats.supported(*at).is_none())?;
    let needed = percentile::samples_needed(quantile * 100.0)?;
    Some(format!(
        "{}: not enough calls for {name} ({} of {}); a percentile needs ten calls beyond it.",
        figure::UNKNOWN,
        count(stats.count),
        count(needed)
    ))
}

fn quantiles(stats: &LatencyStats) -> [String; 4] {
    [
        headline::quantile(stats, 0.5),
        headline::quantile(stats, 0.95),
        headline::quantile(stats, 0.99),
        headline::slowest(stats),
    ]
}

/// Phase by phase, where there are several.
pub fn phases(report: &Report) -> Section {
    if report.phases.len() < 2 {
        return Section::default();
    }
    let measured = report.phases.iter().filter(|phase| phase.measured).count();
    let mut section = Section::new("Phases")
        .table(phase_table(&report.phases))
        .detail_if(measured < 2);
    section.blocks.extend(charts::by_concurrency(report));
    section
}

/// One row per phase.
fn phase_table(phases: &[PhaseReport]) -> Table {
    let is_paced = phases.iter().any(|phase| phase.rate.is_some());
    let load = if is_paced {
        "scheduled/s"
    } else {
        "concurrent"
    };
    let header = [
        "Phase", load, "calls", "failed", "calls/s", "p50", "p99", "max",
    ];
    let rows = phases.iter().map(|phase| {
        let counted = if phase.measured { "" } else { " (not counted)" };
        let [p50, _, p99, max] = quantiles(&phase.latency_ms);
        [
            format!("{}{counted}", phase.name),
            match phase.rate {
                None if !is_paced => phase.concurrent.to_string(),
                scheduled => known(scheduled, rate),
            },
            count(phase.count),
            count(phase.failed),
            rate(phase.requests_per_sec),
            p50,
            p99,
            max,
        ]
    });
    Table {
        limit: Some(Limit::Spread(ROWS_MAX)),
        ..Table::new(header).rows(rows)
    }
}

/// One row per tool.
pub fn tools(report: &Report) -> Section {
    let rows = report.tools.iter().map(|(name, tool)| {
        let [p50, p95, p99, max] = quantiles(&tool.latency_ms);
        let (calls, failed) = (count(tool.count), count(tool.errors.total));
        cells![Line::code(name), calls, failed, p50, p95, p99, max]
    });
    let table = Table::new(["Tool", "calls", "failed", "p50", "p95", "p99", "max"]).rows(rows);
    Section::new("Tools")
        .table(table.at_most(ROWS_MAX))
        .detail_if(report.tools.len() <= 1)
}

/// The slowest calls, to be looked up in the trace.
pub fn slowest(report: &Report) -> Section {
    let rows = report.slowest.iter().map(|call| {
        cells![
            figure::latency(call.duration),
            Line::code(&call.tool),
            call.category.map_or("ok", ErrorCategory::name),
            format!("{:.3}s", call.at.as_secs_f64()),
            call.session,
            call.request_id,
        ]
    });
    let table = Table::new(["Took", "Tool", "Ended", "at", "session", "request_id"]).rows(rows);
    let section = Section::new("Slowest calls").table(table.at_most(SLOWEST_MAX));
    let has_trace = !report.trace_path.as_os_str().is_empty();
    let Some(first) = report.slowest.first().filter(|_| has_trace) else {
        return section;
    };
    let find = Line::plain("To see one: ").and_code(format!(
        "jq 'select(.session=={} and .request_id=={})' trace.jsonl",
        first.session, first.request_id
    ));
    section.with(Section::default().paragraph(find).detail())
}

/// What failed, why, and what to try.
pub fn errors(report: &Report) -> Section {
    let section = Section::new("Errors");
    let errors = &report.errors;
    if errors.by_category.is_empty() {
        return section.paragraph("None.").detail();
    }
    let mut categories: Vec<_> = errors.by_category.iter().collect();
    categories.sort_by_key(|(category, count)| (std::cmp::Reverse(**count), **category));
    let rows = categories.into_iter().map(|(category, number)| {
        let example = errors
            .examples
            .get(category)
            .map_or_else(Line::default, Line::code);
        cells![
            category.name(),
            count(*number),
            example,
            Line::of(&category.hint())
        ]
    });
    section.table(Table::new(["Category", "Count", "Example", "What to try"]).rows(rows))
}

/// What the server's processes used.
pub fn process(report: &Report) -> Section {
    let section = Section::new("Process");
    let process = &report.process;
    if process.samples.is_empty() {
        let why = "Not sampled: the server's processes are not on this machine, or the run was too short.";
        return section.paragraph(why).detail();
    }
    let counted = |name, value: fn(&ProcessSample) -> Option<u32>| {
        course(
            report,
            |sample| value(sample).map(f64::from),
            |value| figure::decimal(value, 0),
        )
        .map(|course| format!("{name}: {course}"))
    };
    let parts: Vec<String> = [
        course(report, |sample| Some(sample.rss_mb), megabytes)
            .map(|course| format!("Memory: {course}")),
        counted("Descriptors", |sample| sample.descriptors),
        counted("Threads", |sample| sample.threads),
        counted("Processes", |sample| Some(sample.processes)),
        Some(format!("Avg CPU: {:.1}%", process.avg_cpu_pct)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut section = section.paragraph(parts.join(" · "));
    section.blocks.extend(charts::process(report));
    section
}

/// How busy other work kept the machine: in short where it did.
pub fn machine(report: &Report) -> Section {
    let described = report.machine.and_then(|it| Some((it, it.describe()?)));
    let Some((machine, words)) = described else {
        return Section::default();
    };
    let section = Section::default().paragraph(format!("Machine: {words}."));
    section.detail_if(!machine.busy)
}

/// `30 → 32 (peak 35)`: from the first sample of the load to the last, and the most; `12` where that is all the same.
fn course(
    report: &Report,
    value: impl Fn(&ProcessSample) -> Option<f64>,
    shown: impl Fn(f64) -> String,
) -> Option<String> {
    let began = report.phases.iter().map(|phase| phase.from).min();
    let samples = &report.process.samples;
    let of_load = |sample: &&ProcessSample| began.is_none_or(|began| sample.at >= began);
    let first = samples.iter().find(of_load).or(samples.first())?;
    let values = || samples.iter().filter_map(&value);
    let peak = values().fold(0.0, f64::max);
    let ends = [value(first)?, values().next_back()?];
    let [first, last, peak] = [ends[0], ends[1], peak].map(shown);
    Some(if first == last && last == peak {
        last
    } else {
        format!("{first} → {last} (peak {peak})")
    })
}
