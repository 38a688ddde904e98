//! What was measured: counts, latency, phases, tools, errors, processes.

use mcprove_score::percentile;
use mcprove_score::threshold::ThresholdKind::{P50Latency, P95Latency, P99Latency, P999Latency};

use mcprove_document::terminal::cut;

use super::charts;
use crate::report::histogram::histogram;
use crate::report::prelude::*;

/// Rows of the histogram.
const LATENCY_ROWS: usize = 10;
/// Calls below which a histogram says nothing.
const HISTOGRAM_CALLS_MIN: u64 = 100;
/// Rows of a table on a terminal.
const ROWS_MAX: usize = 10;
/// Error codes that are named where details are not shown.
const CODES_MAX: usize = 4;
/// Stretches of time in which answered calls are counted.
const STRETCHES_MAX: usize = 6;
/// The longest example of an error there.
const EXAMPLE_MAX: usize = 60;

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
        Figure::new("Error rate", headline::error_rate(report))
            .bad_if(report.error_rate().is_some_and(|rate| rate > 0.0)),
        Figure::new("Deadlocks", report.deadlock_count).bad_if(report.deadlock_count > 0),
        Figure::new("Hangs", report.hang_count).bad_if(report.hang_count > 0),
    ];
    if latency.count > 0 {
        let known = headline::QUANTILES
            .iter()
            .filter(|(_, at)| latency.supported(*at).is_some());
        figures.extend(known.map(|(name, at)| Figure::new(name, headline::quantile(latency, *at))));
        figures.push(Figure::new("Slowest", headline::slowest(latency)));
    }
    let warmup = report.warmup.as_ref().map_or(0, |warmup| warmup.count);
    let further = [
        ("Answered late", report.late(), true),
        ("Refused by a limit", report.errors.rate_limited, true),
        (
            "Server processes that ended",
            u64::from(report.crash_count),
            true,
        ),
        ("Sessions replaced", u64::from(report.reconnect_count), true),
        ("Dropped (could not start in time)", report.dropped, true),
        ("Out of range of the histogram", report.out_of_range, true),
        (
            "In flight when the load ended",
            report.in_flight_at_end,
            false,
        ),
        ("Warm-up, not counted", warmup, false),
    ]
    .into_iter()
    .filter(|(_, number, _)| *number > 0);
    let figure = |(name, number, is_bad)| Figure::new(name, count(number)).bad_if(is_bad);
    let (bad, others): (Vec<_>, Vec<_>) = further.partition(|(.., is_bad)| *is_bad);
    figures.extend(bad.into_iter().map(figure));
    let others: Vec<Figure> = others.into_iter().map(figure).collect();
    if !report.process.samples.is_empty() {
        figures.push(Figure::new(
            "Peak RSS",
            megabytes(report.process.peak_rss_mb),
        ));
    }
    if !report.coverage.missing.is_empty() && report.skipped_tools.is_empty() {
        figures.push(Figure::new("Coverage", report.coverage.line()));
    }
    let grade = report.grades.overall;
    figures.extend(grade.map(|grade| Figure::new("Grade", format!("{grade:?}"))));
    let mut section = Section::new("Summary").block(Block::Figures(figures));
    if !others.is_empty() {
        section = section.block(Block::Detail(Box::new(Block::Figures(others))));
    }
    if let Some(errors) = error_codes(report) {
        section = section.brief(errors);
    }
    if let Some(timeline) = completions(report) {
        section = section.paragraph(timeline);
    }
    section.with(machine(report))
}

/// When calls were answered, where some never were: `Answered in time: 0–2s 12 · 2–4s 0`.
fn completions(report: &Report) -> Option<String> {
    let throughput = &report.throughput;
    let untils = throughput.timeline.iter().map(|(until, _)| *until);
    let stretches: Vec<_> = untils.zip(&throughput.intervals).collect();
    if report.deadlock_count == 0 || stretches.is_empty() {
        return None;
    }
    let width = stretches.len().div_ceil(STRETCHES_MAX);
    let mut until = report.phases.iter().map(|it| it.from).min()?;
    let counts = stretches.chunks(width).filter_map(|chunk| {
        let from = std::mem::replace(&mut until, chunk.last()?.0);
        let answered = chunk
            .iter()
            .map(|(_, it)| it.completed.saturating_sub(it.failed));
        let answered: u64 = answered.sum();
        let [from, until] = [from, until].map(|it| it.as_secs());
        Some(format!("{from}–{until}s {}", count(answered)))
    });
    let counts: Vec<String> = counts.collect();
    Some(format!("Answered in time: {}", counts.join(" · ")))
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
    let mut table = Table::new(["p50", "p95", "p99", "p999", "max"]).numbers(..);
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
    let mut section = Section::new("Latency").table(table);
    if let Some(note) = percentile_note(stats) {
        section = section.paragraph(note);
    }
    if stats.count >= HISTOGRAM_CALLS_MIN {
        section = section.block(Block::Bars(histogram(&stats.histogram, LATENCY_ROWS)));
    }
    let mut others = Table::new(["Latency of", "count", "p50", "p95", "p99", "max"]).numbers(1..);
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
    section.table(others).detail()
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
    let mut section = Section::new("Phases")
        .table(phase_table(&report.phases))
        .detail();
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
        ..Table::new(header).numbers(1..).rows(rows)
    }
}

/// One row per tool.
pub fn tools(report: &Report) -> Section {
    let rows = report.tools.iter().map(|(name, tool)| {
        let [p50, p95, p99, max] = quantiles(&tool.latency_ms);
        let (calls, failed) = (count(tool.count), count(tool.errors.total));
        cells![Line::code(name), calls, failed, p50, p95, p99, max]
    });
    let table = Table::new(["Tool", "calls", "failed", "p50", "p95", "p99", "max"])
        .numbers(1..)
        .rows(rows);
    Section::new("Tools")
        .table(table.at_most(ROWS_MAX))
        .detail_if(report.tools.len() <= 1)
}

/// The slowest calls, to be looked up in the trace. A deadlock probe lists its calls itself.
pub fn slowest(report: &Report) -> Section {
    if report.deadlock.is_some() {
        return Section::default();
    }
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
    let table = Table::new(["Took", "Tool", "Ended", "at", "session", "request_id"])
        .numbers(..1)
        .numbers(3..)
        .rows(rows);
    let mut section = Section::new("Slowest calls").table(table);
    let has_trace = !report.trace_path.as_os_str().is_empty();
    if let Some(first) = report.slowest.first().filter(|_| has_trace) {
        let find = format!(
            "jq 'select(.session=={} and .request_id=={})' trace.jsonl",
            first.session, first.request_id
        );
        section = section.paragraph(Line::plain("To see one: ").and_code(find));
    }
    section.detail()
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
    let section = section.table(
        Table::new(["Category", "Count", "Example", "What to try"])
            .numbers(1..2)
            .rows(rows),
    );
    let by_code = by_code(errors).into_iter();
    let by_code = by_code.map(|(code, number)| cells![code, count(number)]);
    let table = Table::new(["Code", "Count"]).numbers(1..).rows(by_code);
    let has_codes = errors.by_code.keys().any(|code| code.contains(' '));
    let section = if has_codes {
        section.table(table)
    } else {
        section
    };
    section.detail()
}

/// How many errors there were of each code, the most frequent first.
fn by_code(errors: &ErrorStats) -> Vec<(&str, u64)> {
    let codes = errors.by_code.iter();
    let mut codes: Vec<_> = codes
        .map(|(code, number)| (code.as_str(), *number))
        .collect();
    codes.sort_by_key(|(code, number)| (std::cmp::Reverse(*number), *code));
    codes
}

/// The same in a line, with an example of the most frequent.
fn error_codes(report: &Report) -> Option<Line> {
    let codes = by_code(&report.errors);
    let (first, _) = codes.first()?;
    let mut examples = report.errors.examples.iter();
    let example = examples.find(|(category, _)| first.starts_with(category.name()));
    let example = example.map_or_else(String::new, |(_, text)| {
        format!(" ({})", cut(&printable(text, EXAMPLE_MAX), EXAMPLE_MAX))
    });
    let shown = codes.iter().take(CODES_MAX).enumerate();
    let mut shown: Vec<String> = shown
        .map(|(place, (code, number))| match place {
            0 => format!("{code} {}{example}", count(*number)),
            _ => format!("{code} {}", count(*number)),
        })
        .collect();
    if let Some(more @ 1..) = codes.len().checked_sub(CODES_MAX) {
        shown.push(counted(number::count(more), "other code"));
    }
    Some(format!("Errors: {}", shown.join(" · ")).into())
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
    let mut section = section.paragraph(parts.join(" · ")).detail();
    section.blocks.extend(charts::process(report));
    section
}

/// How busy other work kept the machine: in short where it did.
fn machine(report: &Report) -> Section {
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
