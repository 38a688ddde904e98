//! Annotations of GitHub Actions: each test that did not pass, at its line of the suite.
//!
//! One annotation per test, because only the first ten of a step are shown.

use super::problems::{Problem, bad, line, name, problems, summary};
use crate::prelude::*;

/// The report as workflow commands.
pub fn render(report: &SuiteReport) -> String {
    let mut lines = String::new();
    for test in bad(report) {
        let word = match test.outcome {
            TestOutcome::Error => "cannot be judged",
            _ => "failed",
        };
        let message: Vec<String> = problems(test).iter().map(of_problem).collect();
        let notes = test.notes.iter().map(|note| line(&note.rendered()));
        let details = test.details.iter();
        let notes = notes.chain(details.map(|details| format!("see {}", line(details))));
        let message: Vec<String> = message.into_iter().chain(notes).collect();
        annotate(&mut lines, "error", test, word, &message.join("\n"));
    }
    for test in &report.tests {
        if let (TestOutcome::Skipped, Some(reason)) = (test.outcome, &test.skipped) {
            annotate(&mut lines, "notice", test, "skipped", &line(reason));
        }
    }
    for problem in &report.problems {
        unusable(&mut lines, problem);
    }
    let level = if report.passed { "notice" } else { "error" };
    let _ = writeln!(
        lines,
        "::{level} title=mcprove::{}",
        escape_data(&summary(report))
    );
    lines
}

fn annotate(lines: &mut String, level: &str, test: &TestReport, word: &str, message: &str) {
    let title = format!("{} {word}", name(test));
    let _ = writeln!(
        lines,
        "::{level} file={},line={},title={}::{}",
        of_file(&test.file),
        test.line,
        escape_property(&title),
        escape_data(message)
    );
}

/// What kept all tests from being run, at its place.
fn unusable(lines: &mut String, problem: &SuiteProblem) {
    let file = problem.file.as_deref();
    let properties = [
        file.map(|it| format!("file={}", of_file(it))),
        problem.line.map(|it| format!("line={it}")),
        problem.column.map(|it| format!("col={it}")),
        Some("title=mcprove cannot run".to_owned()),
    ];
    let properties: Vec<String> = properties.into_iter().flatten().collect();
    let mut message = line(&problem.message.rendered());
    if let Some(hint) = &problem.hint {
        let _ = write!(message, "\nhint: {}", line(&hint.rendered()));
    }
    let (properties, message) = (properties.join(","), escape_data(&message));
    let _ = writeln!(lines, "::error {properties}::{message}");
}

/// GitHub knows files by their names in the repository, with slashes.
fn of_file(file: &str) -> String {
    let file = line(file).replace('\\', "/");
    escape_property(file.strip_prefix("./").unwrap_or(&file))
}

fn of_problem((what, values): &Problem) -> String {
    let mut text = line(&what.to_string());
    if let Some((expected, actual)) = values {
        let _ = write!(text, "\nexpected: {expected}\nactual: {actual}");
    }
    if !what.hint.is_empty() {
        let _ = write!(text, "\nhint: {}", line(&what.hint.rendered()));
    }
    text
}

fn escape_data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}
