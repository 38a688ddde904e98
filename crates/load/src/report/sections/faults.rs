//! What injected faults did: the calls that they struck, and the others before, during and after.

use mcprove_document::block::{Line, Section, Table};
use mcprove_document::figure::{self, count, counted};
use mcprove_score::fault_impact::{FaultImpact, ImpactPhase, Recovery};

use crate::run::Report;
use crate::run::report::FaultsReport;

/// Tools of a fault that have a row; the rest is in metrics.json.
const TOOLS_MAX: usize = 20;

/// The section, where faults were injected.
pub(super) fn faults(report: &Report) -> Section {
    let Some(faults) = &report.faults else {
        return Section::default();
    };
    let by_tool = tool_table(faults);
    let mut details = Section::default().list(faults.impacts.iter().map(timing));
    if !by_tool.rows.is_empty() {
        details = details
            .paragraph("Calls that met no fault, tool by tool, in the same three times:")
            .table(by_tool);
    }
    Section::new("Injected faults")
        .paragraph(apart(faults))
        .table(fault_table(faults))
        .with(details.detail())
}

/// What is counted where.
fn apart(faults: &FaultsReport) -> String {
    let lost = match faults.calls_lost {
        0 => String::new(),
        lost => format!(
            ", and {} lost with a connection that a fault ended",
            counted(lost, "call")
        ),
    };
    let own = match faults.servers_own {
        0 => String::new(),
        own => format!(
            " Only {} failed as no such fault makes them fail; these count against the server.",
            counted(own, "struck call")
        ),
    };
    format!(
        "{} met an injected fault ({} failed){lost}. They are counted here only: every other number of this \
         report, limits included, is of calls that met no fault.{own}{}",
        counted(faults.calls_struck, "call"),
        count(faults.calls_failed),
        beyond_limits(faults),
    )
}

/// What was too much to keep in mind.
fn beyond_limits(faults: &FaultsReport) -> String {
    let connections = match faults.connections_forgotten {
        0 => String::new(),
        count => format!(
            " {} that faults ended were too many to be remembered: calls lost with them count against the server.",
            counted(count, "connection")
        ),
    };
    let calls = match faults.calls_forgotten {
        0 => String::new(),
        count => format!(
            " {} could not be told from earlier ones, for there were too many: a fault with a rate takes each for its first.",
            counted(count, "call")
        ),
    };
    connections + &calls
}

/// Before, during and after each fault, and the calls that it struck.
fn fault_table(faults: &FaultsReport) -> Table {
    let mut table = Table::new(["Fault", "Calls", "count", "errors", "p50", "p95", "p99"]);
    for impact in &faults.impacts {
        let phases = [
            ("before", &impact.before),
            ("during", &impact.during),
            ("after", &impact.after),
        ];
        for (place, (name, phase)) in phases.into_iter().enumerate() {
            let fault = if place == 0 {
                Line::code(&impact.fault)
            } else {
                Line::default()
            };
            table.push(row(fault, Line::plain(name), phase));
        }
        let struck = &impact.struck;
        table.push([
            Line::default(),
            Line::plain("struck"),
            Line::plain(count(struck.calls)),
            Line::plain(rate(struck.error_rate)),
            Line::default(),
            Line::default(),
            Line::plain(figure::maybe_milliseconds(struck.p99_ms)),
        ]);
    }
    table
}

fn row(first: Line, second: Line, phase: &ImpactPhase) -> [Line; 7] {
    [
        first,
        second,
        Line::plain(count(phase.calls)),
        Line::plain(rate(phase.error_rate)),
        Line::plain(figure::maybe_milliseconds(phase.p50_ms)),
        Line::plain(figure::maybe_milliseconds(phase.p95_ms)),
        Line::plain(figure::maybe_milliseconds(phase.p99_ms)),
    ]
}

fn rate(share: Option<f64>) -> String {
    share.map_or_else(|| figure::UNKNOWN.to_owned(), figure::percent)
}

/// When the fault was on, and when all was back.
fn timing(impact: &FaultImpact) -> Line {
    let aimed = match &impact.tool {
        Some(tool) => format!(" at {tool}"),
        None => " at every tool".to_owned(),
    };
    let when = match (impact.from_secs, impact.until_secs) {
        (Some(from), Some(until)) => {
            let held = match impact.released_secs {
                Some(released) => format!(", its calls let go at {released:.1} s"),
                None => String::new(),
            };
            format!("on from {from:.1} s to {until:.1} s of the run{held}")
        }
        _ => "never on".to_owned(),
    };
    let back = match (impact.recovery, impact.recovery_secs) {
        (Recovery::Back, Some(secs)) if secs > 0.0 => {
            format!("p99 and errors back {secs:.1} s after it")
        }
        (Recovery::Back, _) => "p99 and errors back at once".to_owned(),
        (Recovery::NotBack, _) => "p99 and errors not back within the run".to_owned(),
        (Recovery::Unknown, _) => "not known when all was back".to_owned(),
    };
    let limit = match impact.max_recovery_secs {
        Some(limit) => format!(" (allowed: {limit:.1} s)"),
        None => String::new(),
    };
    let suffered = match impact.suffered.as_slice() {
        [] => String::new(),
        tools => format!("; other tools that suffered: {}", tools.join(", ")),
    };
    Line::code(&impact.fault).and(format!(
        ": {}{aimed}, {when}; {back}{limit}{suffered}",
        impact.kind
    ))
}

/// Each tool around each fault.
fn tool_table(faults: &FaultsReport) -> Table {
    let mut table = Table::new([
        "Fault",
        "Tool",
        "suffered",
        "errors before",
        "during",
        "after",
        "p99 before",
        "during",
        "after",
    ]);
    for impact in &faults.impacts {
        for tool in impact.tools.iter().take(TOOLS_MAX) {
            let suffered = match (tool.is_aimed_at, tool.fails_more || tool.is_slower) {
                (true, _) => "aimed at",
                (false, true) => "yes",
                (false, false) => "no",
            };
            let phases = [&tool.before, &tool.during, &tool.after];
            let [errors_before, errors_during, errors_after] =
                phases.map(|phase| Line::plain(rate(phase.error_rate)));
            let [before, during, after] =
                phases.map(|phase| Line::plain(figure::maybe_milliseconds(phase.p99_ms)));
            table.push([
                Line::code(&impact.fault),
                Line::code(&tool.tool),
                Line::plain(suffered),
                errors_before,
                errors_during,
                errors_after,
                before,
                during,
                after,
            ]);
        }
    }
    table
}
