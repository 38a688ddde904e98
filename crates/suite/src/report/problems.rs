//! What is wrong with a test, in words: the same in every format.

use mcprove_document::block::Tone;

use crate::prelude::*;

/// The longest message that is shown whole.
pub const MESSAGE_MAX: usize = 1000;
/// The longest value that is shown whole.
const VALUE_MAX: usize = 300;

/// One thing that is wrong: what, at which target, and what was expected and what came, where the message does not
/// have both.
pub type Problem = (Diagnostic, Option<(String, String)>);

/// Everything that is wrong with a test: what could not be judged first, since it decides.
pub fn problems(test: &TestReport) -> Vec<Problem> {
    let errors = test.errors.iter().map(|error| {
        let place = error.target.as_deref().map(line).unwrap_or_default();
        let message = of_run(error.run, &error.message);
        let what = Diagnostic::new(message, error.hint.clone());
        (Diagnostic { place, ..what }, None)
    });
    let mut all: Vec<Problem> = errors.chain(test.failures.iter().map(of_failure)).collect();
    if all.is_empty() && matches!(test.outcome, TestOutcome::Failed | TestOutcome::Error) {
        let hint = "please report this, with the suite that led to it";
        let what = Diagnostic::new("it did not pass, and no reason is given", hint);
        all.push((what, None));
    }
    all
}

/// A message that names its run.
pub fn of_run(run: Option<usize>, message: &Message) -> Message {
    match run {
        Some(run) => sentence!("run {run}: {message}"),
        None => message.clone(),
    }
}

fn of_failure(failure: &GateFailure) -> Problem {
    let place = failure.place.as_ref().unwrap_or(&failure.target);
    let message = of_run(failure.run, &failure.message);
    let (expected, actual) = (value(&failure.expected), value(&failure.actual));
    let is_known = failure.expected.is_null() && failure.actual.is_null();
    let is_said = is_known || message.has(&expected) && message.has(&actual);
    let values = (!is_said).then_some((expected, actual));
    let what = Diagnostic {
        place: line(place),
        ..Diagnostic::new(message, failure.hint.clone())
    };
    (what, values)
}

/// A value as JSON, cut where it is long.
fn value(value: &Value) -> String {
    printable(&value.to_string(), VALUE_MAX)
}

/// A text on one line, fit for any reader.
pub fn line(text: &str) -> String {
    printable(text, MESSAGE_MAX)
}

/// The name of a test; one without any would be lost.
pub fn name(test: &TestReport) -> String {
    let name = line(&test.name);
    if name.trim().is_empty() {
        "(unnamed)".to_owned()
    } else {
        name
    }
}

/// `suite.yml:12`.
pub fn place(test: &TestReport) -> String {
    format!("{}:{}", line(&test.file), test.line)
}

/// Why a test was skipped.
pub fn reason(test: &TestReport) -> String {
    line(test.skipped.as_deref().unwrap_or("no reason is given"))
}

/// `:12:4`, after the name of a file.
pub fn in_file(line: Option<usize>, column: Option<usize>) -> String {
    let numbers = [line, column].into_iter().flatten();
    let numbers: Vec<String> = numbers.map(|number| format!(":{number}")).collect();
    numbers.concat()
}

/// What kept all tests from being run, in one sentence with its place.
pub fn placed(problem: &SuiteProblem) -> Message {
    let message = problem.message.clone();
    match &problem.file {
        Some(file) => {
            let place = in_file(problem.line, problem.column);
            message.after(format!("{}{place}: ", line(file)))
        }
        None => message,
    }
}

/// Those that did not pass: failures first, then what could not be judged, each in the order of the files.
pub fn bad(report: &SuiteReport) -> impl Iterator<Item = &TestReport> {
    let of = |outcome| {
        report
            .tests
            .iter()
            .filter(move |test| test.outcome == outcome)
    };
    of(TestOutcome::Failed).chain(of(TestOutcome::Error))
}

/// How it ended in one word.
pub fn word(report: &SuiteReport) -> (Tone, &'static str) {
    let counts = report.counts();
    if report.partial && counts.failed == 0 {
        (Tone::Unclear, "INTERRUPTED")
    } else if counts.errors > 0 || !report.problems.is_empty() {
        (Tone::Bad, "ERROR")
    } else if counts.failed > 0 {
        (Tone::Bad, "FAIL")
    } else if counts.passed == 0 {
        // What was skipped proves nothing.
        (Tone::Unclear, "SKIPPED")
    } else {
        (Tone::Good, "PASS")
    }
}

/// `12 tests`.
pub fn counted(number: usize, noun: &str) -> String {
    phrase::count(count(number), noun)
}

/// `12 tests: 9 passed, 2 failed, 1 error`.
pub fn summary(report: &SuiteReport) -> String {
    if !report.problems.is_empty() {
        let problems = counted(report.problems.len(), "problem");
        return format!("no test was run: {problems}");
    }
    let counts = report.counts();
    let parts = [
        (counts.passed, format!("{} passed", counts.passed)),
        (counts.failed, format!("{} failed", counts.failed)),
        (counts.errors, counted(counts.errors, "error")),
        (counts.skipped, format!("{} skipped", counts.skipped)),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(_, part)| part).collect();
    let mut summary = counted(report.tests.len(), "test");
    if !parts.is_empty() {
        summary = format!("{summary}: {}", parts.join(", "));
    }
    if report.partial {
        summary + "; the run was interrupted"
    } else if !parts.is_empty() && counts.skipped == report.tests.len() {
        summary + "; nothing was tested"
    } else {
        summary
    }
}
