//! What only some scenarios look for; what grows is in `growth.rs`.

use mcprove_document::block::{Limit, Line, Section, Table};
use mcprove_document::figure;
use mcprove_score::cold_start::ColdStartReport;
use mcprove_score::deadlock::{DeadlockReport, ProbeOutcome};
use mcprove_score::fuzz::{FuzzOutcome, FuzzReport};
use mcprove_score::head_of_line::HeadOfLineReport;
use mcprove_score::race::RaceReport;
use mcprove_score::verdict::Outcome;
use serde::Serialize;

use super::growth;
use crate::run::Report;

/// Rows of a table of calls or cases: the rest is only counted.
const ROWS_MAX: usize = 50;

/// Cases that a terminal shows.
const TERMINAL_ROWS_MAX: usize = 5;

/// The sections of what was looked for.
pub(super) fn all(report: &Report) -> Vec<Section> {
    let mut sections = Vec::new();
    sections.extend(report.cold_start.as_ref().map(cold_start));
    sections.extend(report.deadlock.as_ref().map(deadlock));
    sections.extend((!report.race.is_empty()).then(|| race(report)));
    sections.extend(report.fuzz.as_ref().map(fuzz));
    sections.extend(report.head_of_line.as_ref().map(head_of_line));
    sections.extend(report.session_ends.as_ref().map(growth::session_ends));
    sections.extend(report.leak.as_ref().map(growth::leak));
    sections.extend(report.drift.as_ref().map(growth::drift));
    sections.extend(report.breaking_point.as_ref().map(growth::breaking_point));
    sections
}

fn cold_start(report: &ColdStartReport) -> Section {
    let mut table = Table::new([
        "Starts",
        "ready",
        "first call",
        "second call",
        "first / second",
    ]);
    table.push([
        report.iterations.to_string(),
        figure::maybe_milliseconds(report.ready_ms),
        figure::maybe_milliseconds(report.first_call_ms),
        figure::maybe_milliseconds(report.second_call_ms),
        figure::maybe_decimal(report.ratio, 1),
    ]);
    let section = Section::new("Cold start").table(table);
    section.paragraph("Medians over all starts, each with a fresh process.")
}

fn deadlock(report: &DeadlockReport) -> Section {
    let head = Section::new("Deadlock probe").list([
        Line::plain("Severity: ").and(Line::strong(name(report.severity))),
        Line::plain(format!("Probe: {}", name(report.outcome))),
    ]);
    let mut lines = Vec::new();
    if report.outcome == ProbeOutcome::Completed {
        lines.push(Line::plain("Tool: ").and_code(&report.tool));
        lines.push(Line::plain(format!(
            "Success: {} · Slow: {} · Deadlock: {} · Error: {}",
            report.success, report.slow, report.deadlock, report.error
        )));
    }
    if let Some(kind) = report.kind {
        lines.push(Line::plain(format!(
            "What is stuck: {} ({})",
            name(kind),
            kind.explanation()
        )));
    }
    let mut table = Table::new(["Call", "Outcome", "after", "Message"]);
    for (index, call) in report.calls.iter().take(ROWS_MAX).enumerate() {
        table.push([
            Line::plain((index + 1).to_string()),
            Line::plain(name(call.outcome)),
            Line::plain(figure::milliseconds(call.duration_ms)),
            call.message.as_ref().map_or_else(Line::default, Line::code),
        ]);
    }
    let calls = and_more(Section::default().table(table), report.calls.len(), "calls");
    head.detail()
        .with(Section::default().list(lines))
        .with(calls.detail())
}

/// What something is called in `metrics.json`.
pub(super) fn name(value: impl Serialize) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}

/// Says how many rows were left out.
fn and_more(section: Section, rows: usize, noun: &str) -> Section {
    match rows.checked_sub(ROWS_MAX) {
        Some(more) if more > 0 => {
            section.paragraph(format!("And {more} more {noun}: see metrics.json."))
        }
        _ => section,
    }
}

fn race(report: &Report) -> Section {
    let mut table = Table::new([
        "Tool",
        "Outcome",
        "alone",
        "different",
        "at once",
        "different at once",
        "failed",
    ]);
    for (tool, race) in &report.race {
        table.push([
            Line::code(tool),
            Line::plain(name(race.outcome)),
            Line::plain(race.baseline_calls.to_string()),
            Line::plain(race.baseline_distinct.to_string()),
            Line::plain(race.concurrent_calls.to_string()),
            Line::plain(race.concurrent_distinct.to_string()),
            Line::plain(race.failures.to_string()),
        ]);
    }
    let examples = report.race.iter().filter_map(|(tool, race)| {
        let RaceReport { example, .. } = race;
        let (one, other) = example.as_ref()?;
        Some(
            Line::code(tool)
                .and(" answered ")
                .and_code(one)
                .and(" and ")
                .and_code(other)
                .and(" to the same call."),
        )
    });
    Section::new("Race check").table(table).list(examples)
}

fn fuzz(report: &FuzzReport) -> Section {
    let counts = format!(
        "Rejected: {} · Accepted: {} · Unanswered: {} · Wedged: {} · Crashed: {}",
        report.rejected, report.accepted, report.unanswered, report.wedged, report.crashed
    );
    let mut cases: Vec<_> = report.cases.iter().collect();
    // The worst outcome first.
    cases.sort_by_key(|case| std::cmp::Reverse(case.outcome));
    let mut table = Table::new(["Outcome", "Payload", "times", "What was seen"]);
    for case in cases.into_iter().take(ROWS_MAX) {
        let name = name(case.outcome);
        table.push([
            if case.outcome >= FuzzOutcome::Wedged {
                Line::strong(name)
            } else {
                Line::plain(name)
            },
            Line::code(&case.payload),
            Line::plain(case.times.to_string()),
            Line::plain(&case.detail),
        ]);
    }
    table.limit = Some(Limit::First(TERMINAL_ROWS_MAX));
    let section = Section::new("Fuzzing").paragraph(counts).table(table);
    and_more(section, report.cases.len(), "payloads")
}

fn head_of_line(report: &HeadOfLineReport) -> Section {
    let mut table = Table::new([
        "fast calls alone",
        "fast calls in the mix",
        "slow calls",
        "samples",
    ]);
    table.push([
        figure::maybe_milliseconds(report.fast_alone_p50),
        figure::maybe_milliseconds(report.fast_mixed_p50),
        figure::maybe_milliseconds(report.slow_p50),
        report.samples.to_string(),
    ]);
    Section::new("Head-of-line blocking")
        .table(table)
        .paragraph(match report.outcome {
            Outcome::Pass => "Medians. Fast calls do not wait for slow ones.",
            Outcome::Finding => "Medians. Fast calls wait for slow ones.",
            Outcome::Inconclusive => "Medians. They do not tell whether fast calls wait.",
        })
}
