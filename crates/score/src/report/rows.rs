//! What failed, and what cannot be judged, gate by gate.

use mcprove_document::block::{Finding, Line, Tone};
use mcprove_document::figure::counted;
use mcprove_settings::number::count;

use super::{GateResult, GateResults, Scored, json_has_all};
use crate::gate::ScoreError;

/// How many runs are told of each gate that does not hold.
const RUNS_PER_GATE: usize = 3;
/// How many gates that do not hold are told.
const GATES_MAX: usize = 20;
/// How many gates are named beside what is wrong with all of them.
const NAMES_MAX: usize = 5;

/// What failed and why.
pub fn failures(scored: &Scored<'_>, verdicts: &GateResults<'_>) -> Vec<Finding> {
    let mut failed = verdicts.gates.iter().filter(|gate| gate.has_failed());
    let mut findings: Vec<Finding> = failed
        .by_ref()
        .take(GATES_MAX)
        .map(|gate| failure(scored, gate))
        .collect();
    findings.extend(more(failed.count(), "failed", "gate"));
    findings
}

/// How many more there are.
fn more(more: usize, word: &'static str, noun: &str) -> Option<Finding> {
    let text = format!("{} more{}", counted(count(more), noun), json_has_all());
    (more > 0).then(|| Finding::new(Tone::Bad, word, text))
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
        let message = Line::sentence(&failure.message);
        let parts = place.into_iter().chain(target).chain([message]);
        finding = finding.line(Line::join(parts, ": "));
    }
    let more = gate.failures.len().saturating_sub(RUNS_PER_GATE);
    if more > 0 {
        let runs = counted(count(more), "run");
        finding = finding.line(format!("and in {runs} more"));
    }
    finding
}

/// What cannot be judged, why, and what to try.
pub fn errors(scored: &Scored<'_>, verdicts: &GateResults<'_>) -> Vec<Finding> {
    let errors = scored.report.errors.iter();
    let findings = errors.take(GATES_MAX).map(|error| {
        let place = error.run.map(|run| scored.run_name(run).into());
        let message = Line::sentence(&error.message);
        let message = Line::join(place.into_iter().chain([message]), ": ");
        Finding::new(Tone::Bad, "error", unjudged_name(error, verdicts))
            .line(message)
            .hint(Some(&error.hint))
    });
    let mut findings: Vec<Finding> = findings.collect();
    let missing = scored.report.errors.len().saturating_sub(GATES_MAX);
    findings.extend(more(missing, "error", "error"));
    findings
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
    let mut names: Vec<String> = gates
        .by_ref()
        .take(NAMES_MAX)
        .map(GateResult::full_name)
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
