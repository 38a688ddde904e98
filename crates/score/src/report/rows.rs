//! What failed, and what cannot be judged, gate by gate.

use mcprove_document::block::{Finding, Line, Tone};
use mcprove_document::figure::counted;

use super::{GateResult, GateResults, Scored, json_has_all};
use crate::prelude::*;

/// How many runs are told of each gate that does not hold.
const RUNS_PER_GATE: usize = 3;
/// How many gates that do not hold are told.
const GATES_MAX: usize = 20;
/// How many gates are named beside what is wrong with all of them.
const NAMES_MAX: usize = 5;

/// What failed and why.
pub fn failures(scored: &Scored<'_>, verdicts: &GateResults<'_>) -> Vec<Finding> {
    let failed = verdicts.gates.iter().filter(|gate| gate.has_failed());
    first_few(failed, ("failed", "gate"), |gate| failure(scored, gate))
}

/// The first few findings, and how many more there are of what.
fn first_few<T>(
    items: impl IntoIterator<Item = T>,
    (word, noun): (&'static str, &str),
    finding: impl Fn(T) -> Finding,
) -> Vec<Finding> {
    let mut items = items.into_iter();
    let mut findings: Vec<Finding> = items.by_ref().take(GATES_MAX).map(finding).collect();
    let more = items.count();
    if more > 0 {
        let text = format!("{} more{}", counted(count(more), noun), json_has_all());
        findings.push(Finding::new(Tone::Bad, word, text));
    }
    findings
}

fn failure(scored: &Scored<'_>, gate: &GateResult<'_>) -> Finding {
    let mut targets: Vec<&str> = Vec::new();
    for failure in gate.failures.values().flatten() {
        if !targets.contains(&failure.target.as_str()) {
            targets.push(&failure.target);
        }
    }
    let mut finding = Finding::new(Tone::Bad, "failed", targets.join(", "));
    for failure in gate.failures.values().take(RUNS_PER_GATE).flatten() {
        let place = failure.run.map(|run| scored.run_name(run).into());
        let target = (targets.len() > 1).then(|| Line::plain(&failure.target));
        let message = Line::of(&failure.message);
        let parts = place.into_iter().chain(target).chain([message]);
        finding = finding.line(Line::join(parts, ": "));
    }
    match gate.failures.len().saturating_sub(RUNS_PER_GATE) {
        0 => finding,
        more => finding.line(format!("and in {} more", counted(count(more), "run"))),
    }
}

/// What cannot be judged, why, and what to try.
pub fn errors(scored: &Scored<'_>, verdicts: &GateResults<'_>) -> Vec<Finding> {
    first_few(&scored.report.errors, ("error", "error"), |error| {
        let place = error.run.map(|run| scored.run_name(run).into());
        let message = Line::of(&error.message);
        let message = Line::join(place.into_iter().chain([message]), ": ");
        Finding::new(Tone::Bad, "error", unjudged_name(error, verdicts))
            .line(message)
            .hint(Some(&error.hint))
    })
}

/// What an error is about, with the gates that cannot be judged for it where they have other names.
fn unjudged_name(error: &ScoreError, verdicts: &GateResults<'_>) -> String {
    let target = error.target.as_deref();
    let target_name = target.unwrap_or("the trace");
    let is_meant = |gate: &&GateResult<'_>| {
        let errors = gate.errors.get(&error.run);
        errors.is_some_and(|errors| errors.contains(&error)) && gate.target != target
    };
    let mut gates = verdicts.gates.iter().filter(is_meant);
    let names = gates.by_ref().take(NAMES_MAX).map(GateResult::full_name);
    let mut names: Vec<String> = names.collect();
    names.extend(gates.next().map(|_| "…".to_owned()));
    if names.is_empty() {
        format!("{target_name} cannot be judged")
    } else {
        format!("{target_name} cannot be judged ({})", names.join(", "))
    }
}
