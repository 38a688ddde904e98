//! What a run comes to: what was violated, found, not to be told, and passed.

use mcprove_document::style::{Color, Style};
use mcprove_document::table::lay_out;
use mcprove_score::verdict::{Outcome, Verdict};
use mcprove_settings::printable::printable;

use super::{SENTENCE_MAX, SERVER_MAX};
use crate::drive::ScenarioKind;
use crate::report::sections::{expectation, outcome_name};
use crate::run::Report;

/// Violated limits that are shown; the rest is in the report.
const VIOLATIONS_MAX: usize = 10;
/// Findings that are shown; the rest is in the report.
const FINDINGS_MAX: usize = 6;

/// What leads in place of a count of findings: a deadlock probe is asked one question.
pub(super) fn lead(report: &Report) -> Option<String> {
    if !matches!(report.scenario_kind, ScenarioKind::DeadlockProbe { .. }) {
        return None;
    }
    let verdict = deadlock_verdict(report)?;
    Some(printable(&verdict.sentence, SENTENCE_MAX))
}

fn deadlock_verdict(report: &Report) -> Option<&Verdict> {
    let mut verdicts = report.verdicts.iter();
    verdicts.find(|verdict| verdict.detector == "deadlock")
}

/// What was violated and found, each with what to try; what could not be told; what passed.
pub fn draw(report: &Report, style: Style) -> String {
    let has_lead = lead(report).is_some();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |label: &str, text: String| rows.push(vec![label.to_owned(), text]);
    for violation in report.threshold_violations.iter().take(VIOLATIONS_MAX) {
        let tool = violation.tool.as_ref().map_or(String::new(), |tool| {
            format!(" of {}", printable(tool, SERVER_MAX))
        });
        row(
            "violated",
            format!(
                "{}{tool}: expected {}, got {}",
                violation.metric,
                expectation(&violation.expected),
                violation.actual
            ),
        );
    }
    let mut found = report.findings();
    found.extend(
        report
            .verdicts
            .iter()
            .filter(|verdict| verdict.outcome == Outcome::Inconclusive),
    );
    for verdict in found.iter().take(FINDINGS_MAX) {
        let is_shown = has_lead && verdict.detector == "deadlock";
        if !is_shown {
            row(
                outcome_name(verdict),
                format!(
                    "{}: {}",
                    verdict.detector,
                    printable(&verdict.sentence, SENTENCE_MAX)
                ),
            );
        }
        if let Some(hint) = &verdict.hint {
            row(
                if is_shown { "try" } else { "" },
                if is_shown {
                    printable(hint, SENTENCE_MAX)
                } else {
                    format!("try: {}", printable(hint, SENTENCE_MAX))
                },
            );
        }
    }
    if let Some(more) = found.len().checked_sub(FINDINGS_MAX + 1) {
        row("", format!("and {} more: see report.md", more + 1));
    }
    let passed: Vec<String> = report
        .verdicts
        .iter()
        .filter(|verdict| verdict.outcome == Outcome::Pass)
        .filter(|verdict| !(has_lead && verdict.detector == "deadlock"))
        .map(|verdict| verdict.detector.clone())
        .collect();
    if !passed.is_empty() {
        row("passed", printable(&passed.join(", "), SENTENCE_MAX));
    }
    paint_labels(&lay_out(&rows, style.width), style)
}

/// Colours the words that rows begin with; done last, so that the layout need not know of codes.
fn paint_labels(text: &str, style: Style) -> String {
    let labels = [
        ("violated", Color::Red),
        ("finding", Color::Red),
        ("warning", Color::Yellow),
        ("inconclusive", Color::Yellow),
        ("passed", Color::Green),
    ];
    let mut painted = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let label = labels.iter().find(|(label, _)| {
            let rest = line
                .strip_prefix("  ")
                .and_then(|line| line.strip_prefix(label));
            rest.is_some_and(|rest| rest.starts_with(' ') || rest.starts_with('\n'))
        });
        match label {
            Some((label, color)) => {
                painted.push_str(&line.replacen(label, &style.paint(label, *color), 1));
            }
            None => painted.push_str(line),
        }
    }
    painted
}
