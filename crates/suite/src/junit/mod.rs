//! What CI systems read: `JUnit` XML.
//!
//! A suite per run, and one for what is judged over all of them; a case per gate. The names stay the
//! same whether a gate holds, fails or cannot be judged, so that a CI system can tell their history. There is no time in
//! it: scoring the same trace gives the same bytes.

use mcprove_score::report::{GateResult, Scored, gate_results};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::prelude::*;
use crate::report::problems;

/// The longest text that is written whole.
const TEXT_MAX: usize = 4000;
/// The name of a report on scores.
const SCORE: &str = "mcprove score";

/// Why a case did not pass.
struct Problem {
    kind: NonSuccessKind,
    name: String,
    message: String,
    text: String,
}

impl Problem {
    fn error(name: &str, message: String, text: String) -> Self {
        Self {
            kind: NonSuccessKind::Error,
            name: name.to_owned(),
            message,
            text,
        }
    }
}

/// A scored trace as `JUnit` XML.
pub fn score_junit(scored: &Scored<'_>) -> String {
    let verdicts = gate_results(scored.gates, scored.report);
    let runs = (0..scored.report.runs.len()).map(Some);
    let suites = std::iter::once(None).chain(runs).map(|run| {
        let name = match (run, run.and_then(|run| scored.file(run))) {
            (None, _) => "all runs".to_owned(),
            (Some(run), Some(file)) => format!("run {run} ({file})"),
            (Some(run), None) => format!("run {run}"),
        };
        let mut suite = TestSuite::new(line(&name));
        let gates = verdicts.gates.iter();
        for gate in gates.filter(|gate| gate.of_each_run == run.is_some()) {
            suite.add_test_case(case(gate.block, gate.name(), &of_gate(gate, run)));
        }
        let errors = verdicts.other_errors.iter();
        for error in errors.filter(|error| error.run == run) {
            let name = error.target.as_deref().unwrap_or("trace");
            suite.add_test_case(case("score", name, &[unjudged(error)]));
        }
        suite
    });
    write(SCORE, suites.filter(|suite| !suite.test_cases.is_empty()))
}

/// Files that cannot be used, as `JUnit` XML: an error each, never a pass, and never what an earlier
/// run left behind.
pub fn unread_junit(errors: &[ConfigError]) -> String {
    let mut files: Vec<(&str, Vec<Problem>)> = Vec::new();
    for error in errors {
        let problem = Problem::error("unusable", error.texts().0, error.to_string());
        match files.iter_mut().find(|(file, _)| *file == error.file) {
            Some((_, problems)) => problems.push(problem),
            None => files.push((&error.file, vec![problem])),
        }
    }
    let suites = files
        .into_iter()
        .map(|(file, problems)| suite_of(file, case("score", "input", &problems)));
    write(SCORE, suites)
}

/// A suite with nothing but this.
fn suite_of(name: &str, case: TestCase) -> TestSuite {
    let mut suite = TestSuite::new(line(name));
    suite.add_test_case(case);
    suite
}

/// What is wrong with a gate in one run, or in all together.
fn of_gate(gate: &GateResult<'_>, run: Option<usize>) -> Vec<Problem> {
    let failures = of(&gate.failures, run).map(|it| failed(it, &it.message));
    let errors = of(&gate.errors, run).map(unjudged);
    let problems: Vec<Problem> = failures.chain(errors).collect();
    if problems.is_empty() {
        not_reached(gate, run).into_iter().collect()
    } else {
        problems
    }
}

/// What is about a run. What is about none in particular is about every one, and the other way round.
fn of<'m, Found>(
    by_run: &'m BTreeMap<Option<usize>, Vec<&'m Found>>,
    run: Option<usize>,
) -> impl Iterator<Item = &'m Found> {
    let found = by_run
        .iter()
        .filter(move |(about, _)| run.is_none() || about.is_none() || **about == run);
    found.flat_map(|(_, found)| found.iter().copied())
}

/// Says that a gate may not have been judged in a run: after one that cannot be, nothing is promised
/// of those behind it.
fn not_reached(gate: &GateResult<'_>, run: Option<usize>) -> Option<Problem> {
    let (before, _) = gate.errors.first_key_value()?;
    let before = before.filter(|before| run.is_some_and(|run| *before < run))?;
    let message = format!("not counted as passed, because run {before} cannot be judged");
    Some(Problem::error("inconclusive", message.clone(), message))
}

fn unjudged(error: &ScoreError) -> Problem {
    let text = format!("{error}\nhint: {}", error.hint.rendered());
    Problem::error("inconclusive", error.to_string(), text)
}

fn failed(failure: &GateFailure, message: &Message) -> Problem {
    let GateFailure {
        target,
        place,
        expected,
        actual,
        hint,
        ..
    } = failure;
    let hint = if hint.is_empty() {
        String::new()
    } else {
        format!("\nhint: {}", hint.rendered())
    };
    let place = place.as_ref().map(|place| format!("\nat: {place}"));
    let place = place.unwrap_or_default();
    Problem {
        kind: NonSuccessKind::Failure,
        name: target.clone(),
        message: message.rendered(),
        text: format!(
            "{target}: {}{place}\nexpected: {expected}\nactual: {actual}{hint}",
            message.rendered()
        ),
    }
}

/// A case; it has the name and message of the first problem, and the text of all.
fn case(class: &str, name: &str, problems: &[Problem]) -> TestCase {
    let status = match problems.first() {
        None => TestCaseStatus::success(),
        Some(first) => {
            let mut status = TestCaseStatus::non_success(first.kind);
            let texts: Vec<&str> = problems.iter().map(|each| each.text.as_str()).collect();
            status
                .set_type(line(&first.name))
                .set_message(line(&first.message))
                .set_description(lines(&texts.join("\n")));
            status
        }
    };
    let mut case = TestCase::new(line(name), status);
    case.set_classname(line(class));
    case
}

/// The whole of a report with this name.
fn write(name: &str, suites: impl Iterator<Item = TestSuite>) -> String {
    let mut report = Report::new(name);
    report.add_test_suites(suites);
    // Only writing to a file could fail.
    let text = report.to_string().unwrap_or_default();
    escape_hidden(&text).into_owned()
}

/// A text on one line, without what a terminal would act on and what XML 1.0 cannot hold.
fn line(text: &str) -> String {
    printable(text, TEXT_MAX).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

fn lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(line).collect();
    lines.join("\n")
}

/// The name of a report on suites.
const SUITE: &str = "mcprove run";

/// A report on suites as `JUnit` XML: a suite per file and a case per test.
pub(crate) fn suite_junit(report: &SuiteReport) -> String {
    let mut suites: Vec<TestSuite> = report
        .tests
        .chunk_by(|one, other| one.file == other.file)
        .map(|tests| {
            let file = tests.first().map_or("", |test| &test.file);
            let mut suite = TestSuite::new(line(file));
            suite.add_test_cases(tests.iter().map(of_test));
            suite
        })
        .collect();
    // What kept all tests from being run: an error for each file.
    let unrun = report
        .problems
        .chunk_by(|one, other| one.file == other.file);
    suites.extend(unrun.map(|of_file| {
        let file = of_file.first().and_then(|problem| problem.file.as_deref());
        let wrong: Vec<Problem> = of_file.iter().map(unusable).collect();
        suite_of(file.unwrap_or(SUITE), case("suite", "input", &wrong))
    }));
    if report.partial {
        // What was broken off did not pass, though no test of it failed.
        let message = "the run was interrupted".to_owned();
        let text = format!("{message}, so tests are missing\nhint: run it again");
        let wrong = Problem::error("interrupted", message, text);
        suites.push(suite_of(SUITE, case("suite", "run", &[wrong])));
    }
    write(SUITE, suites.into_iter())
}

fn unusable(problem: &SuiteProblem) -> Problem {
    let sentence = problems::line(&problems::placed(problem).rendered());
    let text = match &problem.hint {
        Some(hint) => format!("{sentence}\nhint: {}", hint.rendered()),
        None => sentence,
    };
    Problem::error("unusable", problem.message.rendered(), text)
}

fn of_test(test: &TestReport) -> TestCase {
    let mut wrong: Vec<Problem> = test
        .errors
        .iter()
        .map(unjudged)
        .chain(
            test.failures
                .iter()
                .map(|it| failed(it, &problems::of_run(it.run, &it.message))),
        )
        .collect();
    if wrong.is_empty() {
        // One that says nothing does not pass for that.
        wrong = problems::problems(test)
            .iter()
            .map(|(it, _)| Problem::error("unknown", it.message.rendered(), it.to_string()))
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
    let notes: Vec<String> = test
        .notes
        .iter()
        .map(Message::rendered)
        .chain(details)
        .collect();
    if !notes.is_empty() {
        case.set_system_out(lines(&notes.join("\n")));
    }
    case
}

#[cfg(test)]
mod tests;
