//! What CI systems read: `JUnit` XML, a suite per file and a case per test.

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

use super::problems;
use crate::junit::{Problem, case, failed, line, lines, unjudged, write};
use crate::run::{SuiteProblem, SuiteReport, TestOutcome, TestReport};

/// The name of the report.
const NAME: &str = "mcprove run";

/// The report as `JUnit` XML.
pub(super) fn render(report: &SuiteReport) -> String {
    let mut suites: Vec<TestSuite> = Vec::new();
    let mut file = None;
    for test in &report.tests {
        if file != Some(&test.file) {
            suites.push(TestSuite::new(line(&test.file)));
            file = Some(&test.file);
        }
        if let Some(suite) = suites.last_mut() {
            suite.add_test_case(of_test(test));
        }
    }
    suites.extend(unrun(&report.problems));
    if report.partial {
        suites.push(interrupted());
    }
    write(NAME, suites.into_iter())
}

/// What was broken off did not pass, though no test of it failed.
fn interrupted() -> TestSuite {
    let wrong = Problem {
        kind: NonSuccessKind::Error,
        name: "interrupted".to_owned(),
        message: "the run was interrupted".to_owned(),
        text: "the run was interrupted, so tests are missing\nhint: run it again".to_owned(),
    };
    let mut suite = TestSuite::new(NAME);
    suite.add_test_case(case("suite", "run", &[wrong]));
    suite
}

/// What kept all tests from being run: an error for each file.
fn unrun(problems: &[SuiteProblem]) -> Vec<TestSuite> {
    let of_files = problems.chunk_by(|one, other| one.file == other.file);
    let suites = of_files.map(|of_file| {
        let file = of_file.first().and_then(|problem| problem.file.as_deref());
        let wrong = of_file.iter().map(|problem| Problem {
            kind: NonSuccessKind::Error,
            name: "unusable".to_owned(),
            message: problem.message.clone(),
            text: match &problem.hint {
                Some(hint) => format!("{}\nhint: {hint}", problems::told(problem)),
                None => problems::told(problem),
            },
        });
        let wrong: Vec<Problem> = wrong.collect();
        let mut suite = TestSuite::new(line(file.unwrap_or(NAME)));
        suite.add_test_case(case("suite", "input", &wrong));
        suite
    });
    suites.collect()
}

fn of_test(test: &TestReport) -> TestCase {
    let errors = test.errors.iter().map(unjudged);
    let mut wrong: Vec<Problem> = errors.chain(test.failures.iter().map(failed)).collect();
    if wrong.is_empty() {
        // One that says nothing does not pass for that.
        wrong = problems::problems(test)
            .iter()
            .map(|problem| Problem {
                kind: NonSuccessKind::Error,
                name: "unknown".to_owned(),
                message: problem.message.clone(),
                text: problem.sentence(),
            })
            .collect();
    }
    let mut case = case(test.kind.name(), &problems::name(test), &wrong);
    if test.outcome == TestOutcome::Skipped {
        let mut status = TestCaseStatus::skipped();
        status.set_message(line(&problems::reason(test)));
        case.status = status;
    }
    if let Ok(duration) = Duration::try_from_secs_f64(test.duration_ms / 1000.0) {
        case.set_time(duration);
    }
    for (name, value) in [("file", line(&test.file)), ("line", test.line.to_string())] {
        case.extra.insert(name.into(), value.into());
    }
    let details = test.details.iter().map(|details| format!("see {details}"));
    let notes: Vec<String> = test.notes.iter().cloned().chain(details).collect();
    if !notes.is_empty() {
        case.set_system_out(lines(&notes.join("\n")));
    }
    case
}
