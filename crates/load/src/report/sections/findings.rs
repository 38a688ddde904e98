//! What a run comes to: sentences, verdicts, grades and broken limits.

use std::cmp::Reverse;

use mcprove_document::block::{Line, Section, Table};
use mcprove_score::grade::Grade;
use mcprove_score::verdict::{Outcome, Severity, Verdict};

use crate::run::Report;

/// "What this means": the numbers in sentences.
pub(super) fn meaning(report: &Report) -> Option<Section> {
    let lines: Vec<Line> = report.meaning.iter().map(Line::sentence).collect();
    (!lines.is_empty()).then(|| Section::new("What this means").list(lines))
}

/// What each detector concluded.
pub(super) fn verdicts(report: &Report) -> Option<Section> {
    if report.verdicts.is_empty() {
        return None;
    }
    let mut table = Table::new(["Check", "Outcome", "What was found", "What to try"]);
    let mut verdicts: Vec<&Verdict> = report.verdicts.iter().collect();
    verdicts.sort_by_key(|verdict| rank(verdict));
    for verdict in verdicts {
        let outcome = outcome_name(verdict);
        table.push([
            Line::plain(&verdict.detector),
            if verdict.is_failure() {
                Line::strong(outcome)
            } else {
                Line::plain(outcome)
            },
            Line::sentence(&verdict.sentence),
            Line::sentence(verdict.hint.as_deref().unwrap_or_default()),
        ]);
    }
    Some(Section::new("Verdicts").table(table))
}

/// How soon a verdict is read: findings, the worst first, then what is not known, then the rest.
fn rank(verdict: &Verdict) -> (u8, Reverse<Severity>) {
    let order = match verdict.outcome {
        Outcome::Finding => 0,
        Outcome::Inconclusive => 1,
        Outcome::Pass => 2,
    };
    (order, Reverse(verdict.severity))
}

/// The outcome of a verdict, in a word or two.
pub fn outcome_name(verdict: &Verdict) -> &'static str {
    match (verdict.outcome, verdict.severity) {
        (Outcome::Pass, _) => "pass",
        (Outcome::Inconclusive, _) => "inconclusive",
        (Outcome::Finding, Severity::Critical) => "finding",
        (Outcome::Finding, _) => "warning",
    }
}

/// Marks, with their reasons.
pub(super) fn grades(report: &Report) -> Option<Section> {
    let grades = &report.grades;
    let mut table = Table::new(["What", "Grade", "Why"]);
    for (name, grade) in [
        ("overall", grades.overall),
        ("latency", grades.latency),
        ("errors", grades.errors),
        ("concurrency", grades.concurrency),
    ] {
        let reason = grades.reasons.get(name);
        if grade.is_none() && reason.is_none() {
            continue;
        }
        let reason = match (reason, name) {
            (Some(reason), _) => reason.clone(),
            (None, "overall") => "the worst of the others".to_owned(),
            (None, _) => String::new(),
        };
        table.push([
            Line::plain(name),
            Line::strong(grade.map_or("none", letter)),
            Line::sentence(reason),
        ]);
    }
    (!table.rows.is_empty()).then(|| Section::new("Grades").table(table))
}

const fn letter(grade: Grade) -> &'static str {
    match grade {
        Grade::A => "A",
        Grade::B => "B",
        Grade::C => "C",
        Grade::D => "D",
        Grade::F => "F",
    }
}

/// Limits that were not kept.
pub(super) fn violations(report: &Report) -> Section {
    let section = Section::new("Threshold violations");
    if report.threshold_violations.is_empty() {
        return section.paragraph(Line::plain("None."));
    }
    let lines = report.threshold_violations.iter().map(|violation| {
        let mut line = Line::strong(violation.metric.name());
        if let Some(tool) = &violation.tool {
            line = line.and(" (").and_code(tool).and(")");
        }
        line.and(format!(
            ": expected {}, got {}",
            expectation(&violation.expected),
            violation.actual
        ))
    });
    section.list(lines.collect())
}

/// A limit as people write it: `≤100ms`.
pub fn expectation(expected: &str) -> String {
    expected.replacen("<=", "≤", 1).replacen(">=", "≥", 1)
}
