//! What failed, and what cannot be judged, row by row.

use mcprove_document::figure::counted;
use mcprove_settings::printable::printable;

use super::{Judged, MESSAGE_MAX, Scored, Table, Verdicts, number};
use crate::gate::ScoreError;

/// How many runs are told of each gate that does not hold.
const RUNS_PER_GATE: usize = 3;
/// How many gates that do not hold are told.
const GATES_MAX: usize = 20;
/// How many gates are named beside what is wrong with all of them.
const NAMES_MAX: usize = 5;

/// What failed and why, gate by gate.
pub(super) fn add_failures(table: &mut Table, scored: &Scored<'_>, verdicts: &Verdicts<'_>) {
    let mut failed = verdicts.gates.iter().filter(|gate| gate.has_failed());
    for gate in failed.by_ref().take(GATES_MAX) {
        add_failed(table, scored, gate);
    }
    let more = failed.count();
    if more > 0 {
        let gates = counted(number(more), "gate");
        table.row("failed", format!("{gates} more; --json has all"));
    }
}

fn add_failed(table: &mut Table, scored: &Scored<'_>, gate: &Judged<'_>) {
    let mut targets: Vec<&str> = Vec::new();
    for failure in gate.failures.values().flatten() {
        if !targets.contains(&failure.target.as_str()) {
            targets.push(&failure.target);
        }
    }
    table.row("failed", printable(&targets.join(", "), MESSAGE_MAX));
    for failure in gate.failures.values().take(RUNS_PER_GATE).flatten() {
        let place = failure.run.map(|run| format!("{}: ", scored.run_name(run)));
        let target = match targets.len() {
            1 => String::new(),
            _ => format!("{}: ", printable(&failure.target, MESSAGE_MAX)),
        };
        let message = printable(&failure.message, MESSAGE_MAX);
        table.row(
            "",
            format!("{}{target}{message}", place.unwrap_or_default()),
        );
    }
    let more = gate.failures.len().saturating_sub(RUNS_PER_GATE);
    if more > 0 {
        let runs = counted(number(more), "run");
        table.row("", format!("and in {runs} more"));
    }
}

/// What cannot be judged, why, and what to try.
pub(super) fn add_errors(table: &mut Table, scored: &Scored<'_>, verdicts: &Verdicts<'_>) {
    let errors = &scored.report.errors;
    for error in errors.iter().take(GATES_MAX) {
        table.row("error", unjudged_name(error, verdicts));
        let place = error.run.map(|run| format!("{}: ", scored.run_name(run)));
        let message = printable(&error.message, MESSAGE_MAX);
        table.row("", format!("{}{message}", place.unwrap_or_default()));
        let hint = printable(&error.hint, MESSAGE_MAX);
        table.row("", format!("hint: {hint}"));
    }
    let more = errors.len().saturating_sub(GATES_MAX);
    if more > 0 {
        let errors = counted(number(more), "error");
        table.row("error", format!("{errors} more; --json has all"));
    }
}

/// What an error is about, with the gates that cannot be judged for it where they have other names.
fn unjudged_name(error: &ScoreError, verdicts: &Verdicts<'_>) -> String {
    let target = error.target.as_deref();
    let target_name = target.map_or("the trace".to_owned(), |target| {
        printable(target, MESSAGE_MAX)
    });
    let is_meant = |gate: &&Judged<'_>| {
        let errors = gate.errors.get(&error.run);
        errors.is_some_and(|errors| errors.contains(&error)) && gate.target != target
    };
    let mut gates = verdicts.gates.iter().filter(is_meant);
    let mut names: Vec<String> = gates
        .by_ref()
        .take(NAMES_MAX)
        .map(|gate| printable(&gate.full_name(), MESSAGE_MAX))
        .collect();
    if gates.next().is_some() {
        names.push("…".to_owned());
    }
    if names.is_empty() {
        format!("{target_name} cannot be judged")
    } else {
        format!("{target_name} cannot be judged ({})", names.join(", "))
    }
}
