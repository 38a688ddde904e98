//! What injected faults did: the calls that they struck, and the others before, during and after.

use crate::report::prelude::*;
use mcprove_score::fault_impact::{FaultImpact, Recovery};

/// Tools of a fault that have a row; the rest is in metrics.json.
const TOOLS_MAX: usize = 20;

/// The section, where faults were injected.
pub fn faults(report: &Report) -> Section {
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
    let some = |number: u64, noun: &str, before: &str, after: &str| match number {
        0 => String::new(),
        number => format!("{before}{}{after}", counted(number, noun)),
    };
    let lost = some(
        faults.calls_lost,
        "call",
        ", and ",
        " lost with a connection that a fault ended",
    );
    let own = some(
        faults.servers_own,
        "struck call",
        " Only ",
        " failed in a way that the fault does not cause; these count against the server.",
    );
    let connections = some(
        faults.connections_forgotten,
        "connection",
        " ",
        " that faults ended were too many to be remembered: calls lost with them count against the server.",
    );
    let calls = some(
        faults.calls_forgotten,
        "call",
        " ",
        " could not be distinguished from earlier ones, because there were too many: a fault with a rate takes each for its first.",
    );
    format!(
        "{} met an injected fault ({} failed){lost}. They are counted here only: every other number of this \
         report, limits included, is of calls that met no fault.{own}{connections}{calls}",
        counted(faults.calls_struck, "call"),
        count(faults.calls_failed),
    )
}

/// Before, during and after each fault, and the calls that it struck.
fn fault_table(faults: &FaultsReport) -> Table {
    let mut table =
        Table::new(["Fault", "Calls", "count", "errors", "p50", "p95", "p99"]).numbers(2..);
    for impact in &faults.impacts {
        let phases = [
            ("before", &impact.before),
            ("during", &impact.during),
            ("after", &impact.after),
        ];
        let mut fault = Line::code(&impact.fault);
        for (name, phase) in phases {
            table.push(cells![
                std::mem::take(&mut fault),
                name,
                count(phase.calls),
                known(phase.error_rate, percent),
                maybe_milliseconds(phase.p50_ms),
                maybe_milliseconds(phase.p95_ms),
                maybe_milliseconds(phase.p99_ms),
            ]);
        }
        let struck = &impact.struck;
        let (calls, errors) = (count(struck.calls), known(struck.error_rate, percent));
        let p99 = maybe_milliseconds(struck.p99_ms);
        table.push(cells!["", "struck", calls, errors, "", "", p99]);
    }
    table
}

/// When the fault was on, and when all was back.
fn timing(impact: &FaultImpact) -> Line {
    let aimed = impact.tool.as_deref().unwrap_or("every tool");
    let when = match (impact.from_secs, impact.until_secs) {
        (Some(from), Some(until)) => {
            let held = impact.released_secs.map_or(String::new(), |released| {
                format!(", its calls let go at {released:.1} s")
            });
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
    let limit = impact.max_recovery_secs;
    let limit = limit.map_or(String::new(), |limit| format!(" (allowed: {limit:.1} s)"));
    let suffered = match impact.suffered.as_slice() {
        [] => String::new(),
        tools => format!("; other tools that suffered: {}", tools.join(", ")),
    };
    Line::code(&impact.fault).and(format!(
        ": {} at {aimed}, {when}; {back}{limit}{suffered}",
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
    ])
    .numbers(3..);
    for impact in &faults.impacts {
        for tool in impact.tools.iter().take(TOOLS_MAX) {
            let suffered = match (tool.is_aimed_at, tool.fails_more || tool.is_slower) {
                (true, _) => "aimed at",
                (false, true) => "yes",
                (false, false) => "no",
            };
            let phases = [&tool.before, &tool.during, &tool.after];
            let mut row =
                cells![Line::code(&impact.fault), Line::code(&tool.tool), suffered].to_vec();
            row.extend(phases.map(|phase| known(phase.error_rate, percent).into()));
            row.extend(phases.map(|phase| maybe_milliseconds(phase.p99_ms).into()));
            table.rows.push(row);
        }
    }
    table
}
