//! Exit code, verdict, grade and first sentence of every report agree.

use std::path::Path;

use mcprove_score::grade::Grade;
use mcprove_score::verdict::{Outcome, Severity, Verdict};

use super::{document, samples};
use crate::run::report::{Report, RunOutcome};
use crate::run::{FailOn, Summary, list_runs, recompute};

/// What disagrees in a report, if something does: as it is read from a file, the outcome that is written there counts.
fn disagreement(report: &Report) -> Option<String> {
    let Some(verdict) = document(report, None).verdict else {
        return Some("there is no verdict".to_owned());
    };
    let summary = Summary::from(report);
    let (words, exit_code, grades): (&[&str], u8, &[Option<Grade>]) = match report.outcome {
        RunOutcome::Passed => (
            &["PASS", "WARN"],
            0,
            &[
                None,
                Some(Grade::A),
                Some(Grade::B),
                Some(Grade::C),
                Some(Grade::D),
            ],
        ),
        RunOutcome::Failed => (&["FAIL"], 1, &[None, Some(Grade::D), Some(Grade::F)]),
        RunOutcome::Inconclusive => (&["INCONCLUSIVE"], 2, &[None]),
    };
    let exit_code = if report.interrupted { 130 } else { exit_code };
    let why = verdict.why.text();
    let has_failed = report.outcome == RunOutcome::Failed;
    let is_found = !report.threshold_violations.is_empty() || report.failures().next().is_some();
    let nothing_succeeded = report.throughput.total_requests > 0
        && report.throughput.successful_requests == 0
        && report.hang_count == 0;
    let checks = [
        (words.contains(&verdict.word), "the verdict"),
        (summary.exit_code == exit_code, "the exit code"),
        (
            summary.passed == (report.outcome == RunOutcome::Passed),
            "`passed`",
        ),
        (grades.contains(&report.grades.overall), "the grade"),
        (has_failed == is_found, "the findings"),
        (
            has_failed || !nothing_succeeded || report.outcome == RunOutcome::Inconclusive,
            "the number of calls that succeeded",
        ),
        (
            has_failed || !why.contains("% of the calls failed."),
            "the sentence",
        ),
        (
            report.outcome == RunOutcome::Passed || !why.contains("No finding"),
            "the sentence",
        ),
        (!why.is_empty(), "an empty sentence"),
    ];
    let outcome = report.outcome;
    let wrong = checks.into_iter().find(|(agrees, _)| !agrees);
    wrong.map(|(_, what)| format!("{what} disagrees with {outcome:?}: {verdict:?}"))
}

#[test]
fn exit_code_verdict_grade_and_sentence_agree() {
    for (name, report) in samples::all() {
        assert_eq!(disagreement(&report), None, "{name}");
        let mut strict = report.clone();
        strict.fail_on = FailOn::Warning;
        let has_finding = !strict.findings().is_empty();
        let outcome = strict.outcome();
        assert!(!has_finding || outcome == RunOutcome::Failed, "{name}");
    }
}

#[test]
fn they_agree_in_stored_runs_that_are_computed_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/samples/runs");
    let runs = list_runs(&folder, usize::MAX).unwrap();
    assert!(runs.len() > 20, "{}", runs.len());
    for run in runs {
        let report = recompute(&run.directory).unwrap().report;
        assert_eq!(disagreement(&report), None, "{:?}", run.directory);
    }
}

#[test]
fn a_planted_disagreement_is_noticed() {
    let planted: [fn(&mut Report); 5] = [
        |report| report.grades.overall = Some(Grade::F),
        |report| {
            report.outcome = RunOutcome::Failed;
            report.grades.overall = Some(Grade::F);
        },
        |report| {
            let verdict = Verdict::critical("deadlock", "Stuck.", "look");
            report.verdicts.push(verdict);
        },
        |report| {
            let verdict = Verdict::inconclusive("success", "Unknown.", "again");
            report.verdicts.push(verdict);
            report.outcome = report.outcome();
        },
        |report| report.fail_on = FailOn::Warning,
    ];
    for (number, plant) in planted.into_iter().enumerate() {
        let mut report = samples::healthy();
        assert_eq!(disagreement(&report), None);
        // With warnings it is `fail_on` that decides.
        report
            .verdicts
            .push(Verdict::warning("ending", "Late.", "exit"));
        assert_eq!(disagreement(&report), None);
        plant(&mut report);
        let found = disagreement(&report);
        assert!(found.is_some(), "{number}");
    }
}

#[test]
fn only_what_was_asked_for_fails() {
    let cases = [
        (Outcome::Pass, Severity::Info, [false, false]),
        (Outcome::Inconclusive, Severity::Info, [false, false]),
        (Outcome::Finding, Severity::Info, [false, false]),
        (Outcome::Finding, Severity::Warning, [false, true]),
        (Outcome::Finding, Severity::Critical, [true, true]),
    ];
    for (outcome, severity, expected) in cases {
        let mut verdict = Verdict::pass("any", "Sentence.");
        (verdict.outcome, verdict.severity) = (outcome, severity);
        let fails = [FailOn::Critical, FailOn::Warning].map(|it| it.is_failure(&verdict));
        assert_eq!(fails, expected, "{verdict:?}");
    }
}
