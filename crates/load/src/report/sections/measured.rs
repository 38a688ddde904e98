//! What was measured: counts, latency, phases, tools, errors, processes.

use mcprove_document::block::{Line, Section, Table};
use mcprove_document::figure::{self, count, counted};
use mcprove_document::style::Style;
use mcprove_score::percentile;
use mcprove_score::threshold::ThresholdKind;
use mcprove_trace::ErrorCategory;

use crate::report::headline;
use crate::report::histogram::histogram_text;
use crate::run::Report;
use crate::run::report::{LatencyStats, PhaseReport};

/// Rows of the histogram.
const LATENCY_ROWS: usize = 12;
/// Columns of the histogram.
const LATENCY_WIDTH: usize = 78;

/// How many calls there were, and what became of them.
pub(super) fn summary(report: &Report) -> Section {
    let throughput = &report.throughput;
    let error_rate = report
        .error_rate()
        .map_or_else(|| figure::UNKNOWN.to_owned(), figure::percent);
    let mut lines = vec![
        format!("Total requests: {}", count(throughput.total_requests)),
        format!(
            "Throughput: {} req/s",
            figure::rate(throughput.requests_per_sec)
        ),
        format!("Error rate: {error_rate}"),
        format!(
            "Deadlocks: {} Hangs: {}",
            report.deadlock_count, report.hang_count
        ),
    ];
    let further = [
        (u64::from(report.crash_count), "Server processes that ended"),
        (u64::from(report.reconnect_count), "Sessions replaced"),
        (report.dropped, "Dropped (could not start in time)"),
        (report.in_flight_at_end, "In flight when the load ended"),
        (report.out_of_range, "Out of range of the histogram"),
    ];
    lines.extend(
        further
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{what}: {}", count(number))),
    );
    if let Some(warmup) = &report.warmup {
        lines.push(format!(
            "Warm-up, not counted: {}",
            counted(warmup.count, "successful call")
        ));
    }
    if report.partial {
        lines.push("Partial: the run ended before its time".to_owned());
    }
    Section::new("Summary").list(lines.iter().map(Line::plain).collect())
}

/// Percentiles and histogram.
pub(super) fn latency(report: &Report) -> Section {
    let stats = &report.latency;
    let mut section = Section::new("Latency");
    if stats.count == 0 {
        return section.paragraph(Line::plain("No call succeeded, so there is no latency."));
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
    section = section.table(table);
    if let Some(note) = percentile_note(stats) {
        section = section.paragraph(Line::plain(note));
    }
    section = section.drawing(histogram_text(
        &stats.histogram,
        LATENCY_ROWS,
        Style::plain(LATENCY_WIDTH),
    ));
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
            others.push([
                Line::plain(name),
                Line::plain(count(other.count)),
                p50,
                p95,
                p99,
                max,
            ]);
        }
    }
    section.table(others)
}

/// Why some percentiles are not shown.
pub fn percentile_note(stats: &LatencyStats) -> Option<String> {
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

fn quantiles(stats: &LatencyStats) -> [Line; 4] {
    [
        headline::quantile(stats, 0.5),
        headline::quantile(stats, 0.95),
        headline::quantile(stats, 0.99),
        headline::slowest(stats),
    ]
    .map(Line::plain)
}

/// Phase by phase, where there are several.
pub(super) fn phases(report: &Report) -> Option<Section> {
    let phases: Vec<&PhaseReport> = report.phases.iter().collect();
    if phases.len() < 2 {
        return None;
    }
    Some(Section::new("Phases").table(phase_table(&phases)))
}

/// One row per phase.
pub fn phase_table(phases: &[&PhaseReport]) -> Table {
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
            Line::plain(&phase.name)
        } else {
            Line::plain(format!("{} (not counted)", phase.name))
        };
        let [p50, _, p99, max] = quantiles(&phase.latency_ms);
        table.push([
            name,
            Line::plain(match phase.rate {
                Some(rate) => figure::rate(rate),
                None if is_paced => "–".to_owned(),
                None => phase.concurrent.to_string(),
            }),
            Line::plain(count(phase.count)),
            Line::plain(count(phase.failed)),
            Line::plain(figure::rate(phase.requests_per_sec)),
            p50,
            p99,
            max,
        ]);
    }
    table
}

/// Tool by tool.
pub(super) fn tools(report: &Report) -> Option<Section> {
    (!report.tools.is_empty()).then(|| Section::new("Tools").table(tool_table(report)))
}

/// One row per tool.
pub fn tool_table(report: &Report) -> Table {
    let mut table = Table::new(["Tool", "calls", "failed", "p50", "p95", "p99", "max"]);
    for (name, tool) in &report.tools {
        let [p50, p95, p99, max] = quantiles(&tool.latency_ms);
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
    table
}

/// The slowest calls, to be looked up in the trace.
pub(super) fn slowest(report: &Report) -> Option<Section> {
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
    let section = Section::new("Slowest calls").table(table);
    let first = report.slowest.first()?;
    if report.trace_path.as_os_str().is_empty() {
        return Some(section);
    }
    Some(
        section.paragraph(Line::plain("To see one: ").and_code(format!(
            "jq 'select(.session=={} and .request_id=={})' trace.jsonl",
            first.session, first.request_id
        ))),
    )
}

/// What failed, why, and what to try.
pub(super) fn errors(report: &Report) -> Section {
    let section = Section::new("Errors");
    let errors = &report.errors;
    if errors.by_category.is_empty() {
        return section.paragraph(Line::plain("None."));
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
            Line::plain(category.hint()),
        ]);
    }
    section.table(table)
}

/// What the server's processes used.
pub(super) fn process(report: &Report) -> Section {
    let section = Section::new("Process");
    let process = &report.process;
    if process.samples.is_empty() {
        return section.paragraph(Line::plain(
            "Not sampled: the server's processes are not on this machine, or the run was too short.",
        ));
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
    section.paragraph(Line::plain(parts.join(" · ")))
}
