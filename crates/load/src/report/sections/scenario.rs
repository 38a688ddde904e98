//! What only some scenarios look for.

use mcprove_score::breaking_point::BreakingKind;
use mcprove_score::deadlock::ProbeOutcome;
use mcprove_score::fuzz::FuzzOutcome;

use crate::report::prelude::*;

/// Rows of a table of calls or cases: the rest is only counted.
const ROWS_MAX: usize = 50;

/// Cases that a terminal shows.
const TERMINAL_ROWS_MAX: usize = 5;

/// The sections of what was looked for.
pub fn all(report: &Report) -> Vec<Section> {
    [
        report.cold_start.as_ref().map(cold_start),
        report.deadlock.as_ref().map(deadlock),
        (!report.race.is_empty()).then(|| race(report)),
        report.fuzz.as_ref().map(fuzz),
        report.head_of_line.as_ref().map(head_of_line),
        report.session_ends.as_ref().map(session_ends),
        report.leak.as_ref().map(leak),
        report.drift.as_ref().map(drift),
        report.breaking_point.as_ref().map(breaking_point),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn cold_start(report: &ColdStartReport) -> Section {
    let table = Table::new([
        "Starts",
        "ready",
        "first call",
        "second call",
        "first / second",
    ]);
    Section::new("Cold start")
        .table(table.numbers(..).rows([[
            report.iterations.to_string(),
            maybe_milliseconds(report.ready_ms),
            maybe_milliseconds(report.first_call_ms),
            maybe_milliseconds(report.second_call_ms),
            maybe_decimal(report.ratio, 1),
        ]]))
        .paragraph("Medians over all starts, each with a fresh process.")
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
        let stuck = format!("What is stuck: {} ({})", name(kind), kind.explanation());
        lines.push(stuck.into());
    }
    let rows = (1..)
        .zip(report.calls.iter().take(ROWS_MAX))
        .map(|(number, call): (u32, _)| {
            let message = call.message.as_ref().map_or_else(Line::default, Line::code);
            cells![
                number,
                name(call.outcome),
                milliseconds(call.duration_ms),
                message
            ]
        });
    let table = Table::new(["Call", "Outcome", "after", "Message"])
        .numbers(..1)
        .numbers(2..3)
        .rows(rows);
    let calls = and_more(Section::default().table(table), report.calls.len(), "calls");
    head.detail()
        .with(Section::default().list(lines))
        .with(calls.detail())
}

/// What something is called in `metrics.json`.
fn name(value: impl Serialize) -> String {
    json!(value).as_str().unwrap_or_default().to_owned()
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
    let table = Table::new([
        "Tool",
        "Outcome",
        "alone",
        "different",
        "at once",
        "different at once",
        "failed",
    ])
    .numbers(2..)
    .rows(report.race.iter().map(|(tool, race)| {
        cells![
            Line::code(tool),
            name(race.outcome),
            race.baseline_calls,
            race.baseline_distinct,
            race.concurrent_calls,
            race.concurrent_distinct,
            race.failures,
        ]
    }));
    let examples = report.race.iter().filter_map(|(tool, race)| {
        let (one, other) = race.example.as_ref()?;
        let both = Line::join([Line::code(one), Line::code(other)], " and ");
        Some(
            Line::code(tool)
                .and(" answered ")
                .and(both)
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
    let rows = cases.into_iter().take(ROWS_MAX).map(|case| {
        let outcome = match name(case.outcome) {
            name if case.outcome >= FuzzOutcome::Wedged => Line::strong(name),
            name => name.into(),
        };
        cells![outcome, Line::code(&case.payload), case.times, &case.detail]
    });
    let table = Table::new(["Outcome", "Payload", "times", "What was seen"])
        .numbers(2..3)
        .rows(rows);
    let section = Section::new("Fuzzing")
        .paragraph(counts)
        .table(table.at_most(TERMINAL_ROWS_MAX));
    and_more(section, report.cases.len(), "payloads")
}

fn head_of_line(report: &HeadOfLineReport) -> Section {
    let table = Table::new([
        "fast calls alone",
        "fast calls in the mix",
        "slow calls",
        "samples",
    ])
    .numbers(..)
    .rows([[
        maybe_milliseconds(report.fast_alone_p50),
        maybe_milliseconds(report.fast_mixed_p50),
        maybe_milliseconds(report.slow_p50),
        report.samples.to_string(),
    ]]);
    Section::new("Head-of-line blocking")
        .table(table)
        .paragraph(match report.outcome {
            Outcome::Pass => "Medians. Fast calls do not wait for slow ones.",
            Outcome::Finding => "Medians. Fast calls wait for slow ones.",
            Outcome::Inconclusive => "Medians. They do not show whether fast calls wait.",
        })
}

fn session_ends(report: &ChurnReport) -> Section {
    let descriptors = &report.descriptors;
    let lines = [
        format!(
            "Opened: {} · Abandoned: {} · Could not be opened: {}",
            count(report.opened),
            count(report.abandoned),
            count(report.failed_opens)
        ),
        format!(
            "Processes left running: {} · Never reaped: {}",
            count(report.leftovers),
            count(report.zombies)
        ),
        format!(
            "Memory growth: {} MB ({} kB per session, R² {}) · Descriptor growth: {} ({} per session, R² {})",
            maybe_decimal(report.memory.growth_mb, 1),
            maybe_decimal(report.memory.growth_per_session_kb, 0),
            maybe_fixed(report.memory.r_squared, 2),
            maybe_decimal(descriptors.growth, 1),
            maybe_decimal(descriptors.growth_per_session, 2),
            maybe_fixed(descriptors.r_squared, 2)
        ),
    ];
    Section::new("Sessions left behind").list(lines)
}

fn leak(report: &LeakReport) -> Section {
    let lines = [
        format!("Outcome: {}", name(report.outcome)),
        format!(
            "Growth while it was sampled: {} MB, {} kB per call",
            maybe_decimal(report.growth_mb, 1),
            maybe_decimal(report.growth_per_call_kb, 2)
        ),
        format!(
            "Slope: {} MB/s, 95 % between {} and {} · R² {}",
            maybe_decimal(report.slope_mb_per_s, 4),
            maybe_decimal(report.slope_low, 4),
            maybe_decimal(report.slope_high, 4),
            maybe_fixed(report.r_squared, 2)
        ),
        samples(report.samples, report.discarded),
    ];
    Section::new("Memory").list(lines)
}

fn drift(report: &DriftReport) -> Section {
    let outcome = match report.outcome {
        Outcome::Pass => "no drift",
        Outcome::Finding => "latency drifts",
        Outcome::Inconclusive => "inconclusive",
    };
    let lines = [
        format!("Outcome: {outcome}"),
        format!(
            "Slope: {} ms/s, 95 % between {} and {} · limit {} · R² {}",
            maybe_decimal(report.slope_ms_per_s, 4),
            maybe_decimal(report.slope_low, 4),
            maybe_decimal(report.slope_high, 4),
            maybe_decimal(report.limit_ms_per_s, 4),
            maybe_fixed(report.r_squared, 2)
        ),
        samples(report.points, report.discarded),
    ];
    Section::new("Latency drift").list(lines)
}

fn samples(used: usize, discarded: usize) -> String {
    format!("Samples: {used} used, {discarded} left out (warm-up)")
}

fn breaking_point(point: &BreakingPoint) -> Section {
    let way = match point.kind {
        BreakingKind::Errors => "calls fail",
        BreakingKind::Latency => "more calls only wait longer",
        BreakingKind::Collapse => "throughput collapses",
    };
    let mut lines = vec![
        format!("At {}: {way}", point.load()),
        format!("Failed there: {}", percent(point.error_share)),
        format!(
            "p99 there: {} · in the first step: {}",
            maybe_milliseconds(point.p99_ms),
            maybe_milliseconds(point.first_p99_ms)
        ),
        format!(
            "Calls per second there: {} · best before: {}",
            maybe_decimal(point.throughput_per_s, 1),
            maybe_decimal(point.best_throughput_per_s, 1)
        ),
    ];
    if let Some(good) = point.last_good_load() {
        lines.push(format!("Last step that held: {good}"));
    }
    Section::new("Breaking point").list(lines)
}
