//! Reports of suites, for tests.

use mcprove_score::gate::{GateFailure, ScoreError};
use mcprove_settings::message::sentence;
use serde_json::json;

use crate::run::sample::{head, plan};
use crate::run::{Repeated, SuiteReport, TestKind, TestOutcome, TestReport};

fn test(name: &str, kind: TestKind, line: usize, outcome: TestOutcome) -> TestReport {
    let mut test = TestReport::new(kind, &head(name, line, &[]), &plan("tests/suite.yml"));
    test.outcome = outcome;
    test.duration_ms = 12.5;
    test
}

/// One of every outcome and kind.
pub fn mixed() -> SuiteReport {
    let passed = test("adds numbers", TestKind::Tool, 4, TestOutcome::Passed);
    let mut failed = test(
        "search finds things",
        TestKind::Tool,
        9,
        TestOutcome::Failed,
    );
    failed.failures.push(GateFailure {
        target: "result.content".to_owned(),
        place: Some("result.content[0].text".to_owned()),
        expected: json!({ "contains": "x" }),
        actual: json!("found nothing, 100 % sure"),
        message: "the text does not contain \"x\"".into(),
        ..GateFailure::default()
    });
    let mut flaky = test("pays once", TestKind::Agent, 20, TestOutcome::Failed);
    flaky.repeated = Some(Repeated {
        times: 3,
        passed: 2,
        flaky: true,
    });
    flaky.notes = vec!["flaky: it passed 2 of 3 times".into()];
    flaky.failures.push(GateFailure {
        target: "duplicate_writes.count".to_owned(),
        expected: json!(0),
        actual: json!(1),
        message: sentence!("repetition 2 of 3: expected {}, got {}", 0, 1),
        run: Some(1),
        ..GateFailure::default()
    });
    let mut error = test("holds 50 clients", TestKind::Load, 30, TestOutcome::Error);
    let message = "12 calls are not enough for p99.";
    let unknown = ScoreError::new("p99_latency", message, "make the load longer");
    error.errors.push(unknown.inconclusive());
    error.details = Some("runs/2026-05-10T14-30-00-ABCDEF".to_owned());
    let skipped = test("needs a key", TestKind::Agent, 40, TestOutcome::Skipped)
        .not_run("there is no key # yet");
    SuiteReport::new(vec![passed, failed, flaky, error, skipped], false)
}

/// Everything passed.
pub fn healthy() -> SuiteReport {
    let tests = ["adds numbers", "search finds things"];
    let tests = tests.map(|name| test(name, TestKind::Tool, 4, TestOutcome::Passed));
    SuiteReport::new(tests.to_vec(), false)
}

/// Broken off.
pub fn interrupted() -> SuiteReport {
    let passed = test("adds numbers", TestKind::Tool, 4, TestOutcome::Passed);
    let missing = test("never run", TestKind::Tool, 9, TestOutcome::Skipped)
        .not_run("not run, because the run was interrupted");
    SuiteReport::new(vec![passed, missing], true)
}

/// A report in which every text is this one.
pub fn planted(text: &str) -> SuiteReport {
    let mut report = mixed();
    for test in &mut report.tests {
        text.clone_into(&mut test.name);
        text.clone_into(&mut test.file);
        test.skipped = test.skipped.take().map(|_| text.to_owned());
        test.notes = vec![text.to_owned().into()];
        test.details = Some(text.to_owned());
        for failure in &mut test.failures {
            text.clone_into(&mut failure.target);
            failure.place = Some(text.to_owned());
            failure.message = text.to_owned().into();
            failure.expected = json!(text);
            failure.actual = json!({ text: text });
        }
        for error in &mut test.errors {
            error.target = Some(text.to_owned());
            error.message = text.to_owned().into();
            error.hint = text.to_owned().into();
        }
    }
    report
}
