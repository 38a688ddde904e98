//! What a run comes to: sentences, verdicts, grades and broken limits.

use std::cmp::Reverse;

use crate::report::headline::lead;
use crate::report::prelude::*;
use mcprove_score::verdict::Verdict;

/// "What this means": the numbers in sentences.
pub fn meaning(report: &Report) -> Section {
    let section = Section::new("What this means");
    section.list(report.meaning.iter().map(Line::of)).detail()
}

/// Limits that were not kept, and what each detector concluded.
pub fn verdicts(report: &Report) -> Section {
    let mut verdicts: Vec<&Verdict> = report.verdicts.iter().collect();
    verdicts.sort_by_key(|verdict| rank(verdict));
    // What the report begins with is not said again.
    let verdicts = verdicts.into_iter().map(|verdict| {
        let mut finding = found(verdict);
        if lead(report) == Some(verdict) {
            finding.lines.clear();
        }
        finding
    });
    let violations = report.threshold_violations.iter().map(|it| {
        let finding = Finding::new(Tone::Bad, "violated", Line::default());
        finding.line(violation(it))
    });
    Section::new("Verdicts").findings(violations.chain(verdicts))
}

/// What a detector concluded.
pub fn found(verdict: &Verdict) -> Finding {
    let (tone, word) = match (verdict.outcome, verdict.severity) {
        (Outcome::Pass, _) => (Tone::Good, "passed"),
        (Outcome::Inconclusive, _) => (Tone::Unclear, "inconclusive"),
        (Outcome::Finding, Severity::Critical) => (Tone::Bad, "finding"),
        (Outcome::Finding, _) => (Tone::Unclear, "warning"),
    };
    Finding::new(tone, word, &verdict.detector)
        .line(Line::of(&verdict.sentence))
        .hint(verdict.hint.as_ref())
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

/// Marks, with their reasons.
pub fn grades(report: &Report) -> Section {
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
        let worst = if name == "overall" {
            "the worst of the others"
        } else {
            ""
        };
        table.push(cells![
            name,
            Line::strong(grade.map_or("none".to_owned(), |grade| format!("{grade:?}"))),
            reason.map_or_else(|| Line::plain(worst), Line::of),
        ]);
    }
    Section::new("Grades").table(table).detail()
}

/// A limit that was not kept.
pub fn violation(violation: &ThresholdViolation) -> Line {
    let mut line = Line::toned(Tone::Bad, violation.metric.name());
    if let Some(tool) = &violation.tool {
        line = line.and(" (").and_code(tool).and(")");
    }
    let (expected, actual) = (&violation.expected, &violation.actual);
    line.and(format!(": expected {expected}, got {actual}"))
}
