//! What was measured: counts, latency, phases, tools, errors, processes.

use mcprove_document::block::{Block, Figure, Limit, Line, Section, Table};
use mcprove_document::figure::{self, count, counted};
use mcprove_score::percentile;
use mcprove_score::threshold::ThresholdKind;
use mcprove_trace::ErrorCategory;

use super::charts;
use crate::report::headline;
use crate::report::histogram::histogram;
use crate::run::Report;
use crate::run::report::{LatencyStats, PhaseReport};

/// Rows of the histogram.
const LATENCY_ROWS: usize = 10;
/// Calls below which a histogram says nothing.
const HISTOGRAM_CALLS_MIN: u64 = 20;
/// Rows of a table on a terminal.
const ROWS_MAX: usize = 10;
/// How many of the slowest calls a terminal shows.
const SLOWEST_MAX: usize = 3;

/// How many calls there were, and what became of them.
pub(super) fn summary(report: &Report) -> Section {
    let throughput = &report.throughput;
    let latency = &report.latency;
    let mut figures = vec![
        Figure::new("Total requests", count(throughput.total_requests))
            .bad_if(throughput.successful_requests == 0),
        Figure::new("Duration", format!("{:.1}s", report.duration.as_secs_f64())),
        Figure::new(
            "Throughput",
            format!("{} req/s", figure::rate(throughput.requests_per_sec)),
        ),
        Figure::new("Error rate", headline::error_rate(report)).bad_if(report.errors.total > 0),
        Figure::new("Deadlocks", report.deadlock_count.to_string())
            .bad_if(report.deadlock_count > 0),
        Figure::new("Hangs", report.hang_count.to_string()).bad_if(report.hang_count > 0),
    ];
    if latency.count > 0 {
        let quantiles = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];
        let quantiles =
            quantiles.map(|(name, at)| Figure::new(name, headline::quantile(latency, at)));
        figures.extend(quantiles);
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
    ];
    let further = further.into_iter().filter(|(_, number, _)| *number > 0);
    figures.extend(
        further.map(|(name, number, is_bad)| Figure::new(name, count(number)).bad_if(is_bad)),
    );
    if !report.process.samples.is_empty() {
        figures.push(Figure::new(
            "Peak RSS",
            figure::megabytes(report.process.peak_rss_mb),
        ));
    }
    let grade = report
        .grades
        .overall
        .map(|grade| Figure::new("Grade", format!("{grade:?}")));
    figures.extend(grade);
    Section::new("Summary").block(Block::Figures(figures))
}

/// Percentiles and histogram.
pub(super) fn latency(report: &Report) -> Section {
    let stats = &report.latency;
    if stats.count == 0 {
        let section = Section::new("Latency");
        return section
            .paragraph("No call succeeded, so there is no latency.")
            .detail();
    }
    let mut table = Table::new(["p50", "p95", "p99", "p999", "max"]);
    let is_violated = |kind: ThresholdKind| {
        let mut violations = report.threshold_violations.iter();
        violations.any(|violation| violation.metric == kind && violation.tool.is_none())
    };
    let cell = |quantile, kind| {
        let text = headline::quantile(stats, quantile);
        if is_violated(kind) {
            Line::strong(text)
        } else {
            Line::plain(text)
        }
    };
    table.push([
        cell(0.5, ThresholdKind::P50Latency),
        cell(0.95, ThresholdKind::P95Latency),
        cell(0.99, ThresholdKind::P99Latency),
        cell(0.999, ThresholdKind::P999Latency),
        Line::plain(headline::slowest(stats)),
    ]);
    let mut section = Section::new("Latency").table(table).detail();
    if let Some(note) = percentile_note(stats) {
        section = section.paragraph(note);
    }
    let bars = Block::Bars(histogram(&stats.histogram, LATENCY_ROWS));
    section = section.block(match stats.count {
        HISTOGRAM_CALLS_MIN.. => bars,
        _ => Block::Detail(Box::new(bars)),
    });
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
            others.push([name.to_owned(), count(other.count), p50, p95, p99, max]);
        }
    }
    section.with(Section::default().table(others).detail())
}

/// Why some percentiles are not shown.
fn percentile_note(stats: &LatencyStats) -> Option<String> {
    let (name, needed) = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)]
        .into_iter()
        .find(|(_, quantile)| stats.supported(*quantile).is_none())
        .and_then(|(name, quantile)| Some((name, percentile::samples_needed(quantile * 100.0)?)))?;
    Some(format!(
        "{}: a percentile is shown only with ten calls beyond it; {name} needs {}, and there are {}.",
        figure::UNKNOWN,
        counted(needed, "call"),
        count(stats.count)
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
pub(super) fn phases(report: &Report) -> Section {
    if report.phases.len() < 2 {
        return Section::default();
    }
    let mut section = Section::new("Phases").table(phase_table(&report.phases));
    if report.phases.iter().filter(|phase| phase.measured).count() < 2 {
        section = section.detail();
    }
    section.blocks.extend(charts::by_concurrency(report));
    section
}

/// One row per phase.
fn phase_table(phases: &[PhaseReport]) -> Table {
    let is_paced = phases.iter().any(|phase| phase.rate.is_some());
    let mut table = Table::new([
        "Phase",
        if is_paced {
            "scheduled/s"
        } else {
            "concurrent"
        },
        "calls",
        "failed",
        "calls/s",
        "p50",
        "p99",
        "max",
    ]);
    for phase in phases {
        let name = if phase.measured {
            phase.name.clone()
        } else {
            format!("{} (not counted)", phase.name)
        };
        let [p50, _, p99, max] = quantiles(&phase.latency_ms);
        table.push([
            name,
            match phase.rate {
                Some(rate) => figure::rate(rate),
                None if is_paced => "–".to_owned(),
                None => phase.concurrent.to_string(),
            },
            count(phase.count),
            count(phase.failed),
            figure::rate(phase.requests_per_sec),
            p50,
            p99,
            max,
        ]);
    }
    table.limit = Some(Limit::Spread(ROWS_MAX));
    table
}

/// One row per tool.
pub(super) fn tools(report: &Report) -> Section {
    let mut table = Table::new(["Tool", "calls", "failed", "p50", "p95", "p99", "max"]);
    for (name, tool) in &report.tools {
        let [p50, p95, p99, max] = quantiles(&tool.latency_ms).map(Line::plain);
        table.push([
            Line::code(name),
            Line::plain(count(tool.count)),
            Line::plain(count(tool.errors.total)),
            p50,
            p95,
            p99,
            max,
        ]);
    }
    table.limit = Some(Limit::First(ROWS_MAX));
    let section = Section::new("Tools").table(table);
    // Of one tool the summary has said it all.
    if report.tools.len() > 1 {
        section
    } else {
        section.detail()
    }
}

/// The slowest calls, to be looked up in the trace.
pub(super) fn slowest(report: &Report) -> Section {
    let mut table = Table::new(["Took", "Tool", "Ended", "at", "session", "request_id"]);
    for call in &report.slowest {
        table.push([
            Line::plain(figure::latency(call.duration)),
            Line::code(&call.tool),
            Line::plain(call.category.map_or("ok", ErrorCategory::name)),
            Line::plain(format!("{:.3}s", call.at.as_secs_f64())),
            Line::plain(call.session.to_string()),
            Line::plain(call.request_id.to_string()),
        ]);
    }
    table.limit = Some(Limit::First(SLOWEST_MAX));
    let section = Section::new("Slowest calls").table(table);
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
pub(super) fn errors(report: &Report) -> Section {
    let section = Section::new("Errors");
    let errors = &report.errors;
    if errors.by_category.is_empty() {
        return section.paragraph("None.").detail();
    }
    let mut categories: Vec<_> = errors.by_category.iter().collect();
    categories.sort_by_key(|(category, count)| (std::cmp::Reverse(**count), **category));
    let mut table = Table::new(["Category", "Count", "Example", "What to try"]);
    for (category, number) in categories {
        let example = errors.examples.get(category).map(String::as_str);
        table.push([
            Line::plain(category.name()),
            Line::plain(count(*number)),
            example.map_or_else(Line::default, Line::code),
            Line::plain(category.hint().text()),
        ]);
    }
    section.table(table)
}

/// What the server's processes used.
pub(super) fn process(report: &Report) -> Section {
    let section = Section::new("Process");
    let process = &report.process;
    if process.samples.is_empty() {
        let why = "Not sampled: the server's processes are not on this machine, or the run was too short.";
        return section.paragraph(why).detail();
    }
    let mut parts = vec![
        format!("Peak RSS: {}", figure::megabytes(process.peak_rss_mb)),
        format!("Final RSS: {}", figure::megabytes(process.final_rss_mb)),
        format!("Avg CPU: {:.1}%", process.avg_cpu_pct),
    ];
    if let Some(growth) = process.growth_mb {
        parts.push(format!("RSS growth: {growth:+.1} MB"));
    }
    if let Some(threads) = process.peak_threads {
        parts.push(format!("Peak threads: {threads}"));
    }
    if let Some(descriptors) = process.peak_descriptors {
        parts.push(format!("Peak descriptors: {descriptors}"));
    }
    let mut section = section.paragraph(parts.join(" · "));
    section.blocks.extend(charts::process(report));
    section
}
