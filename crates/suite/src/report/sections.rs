//! The report as a document: what is wrong, test by test, and a table of all. Markdown and HTML draw it.

use mcprove_document::block::{Line, Section, Table};
use mcprove_document::figure;

use super::problems::{bad, name, place, problems, reason, told};
use crate::run::{SuiteReport, TestOutcome, TestReport};

/// How many tests that did not pass are told.
const BAD_MAX: usize = 200;
/// How many tests are in the table.
const ROWS_MAX: usize = 5000;

/// All sections that have something in them.
pub(super) fn all(report: &SuiteReport) -> Vec<Section> {
    let sections = [
        unrun(report),
        wrong(report),
        skipped(report),
        notes(report),
        tests(report),
    ];
    sections.into_iter().flatten().collect()
}

/// What kept all tests from being run.
fn unrun(report: &SuiteReport) -> Option<Section> {
    let mut lines = Vec::new();
    for problem in report.problems.iter().take(BAD_MAX) {
        lines.push(Line::plain(told(problem)));
        if let Some(hint) = &problem.hint {
            lines.push(Line::sentence(format!("What to try: {hint}")));
        }
    }
    (!lines.is_empty()).then(|| Section::new("Why nothing was run").list(lines))
}

fn wrong(report: &SuiteReport) -> Option<Section> {
    let mut tests = bad(report).peekable();
    tests.peek()?;
    let mut section = Section::new("What did not pass");
    for test in tests.by_ref().take(BAD_MAX) {
        section = section.paragraph(title(test)).list(lines(test));
    }
    let more = tests.count();
    if more > 0 {
        section = section.paragraph(Line::plain(format!("{more} more are in the table below.")));
    }
    Some(section)
}

fn title(test: &TestReport) -> Line {
    Line::strong(name(test))
        .and(format!(" ({}) ", test.outcome.name()))
        .and_code(place(test))
}

fn lines(test: &TestReport) -> Vec<Line> {
    let mut lines = Vec::new();
    for problem in problems(test) {
        lines.push(match &problem.target {
            Some(target) => Line::code(target).and(format!(": {}", problem.message)),
            None => Line::plain(&problem.message),
        });
        if let Some((expected, actual)) = &problem.values {
            let line = Line::plain("expected ").and_code(expected);
            lines.push(line.and(", got ").and_code(actual));
        }
        if let Some(hint) = &problem.hint {
            lines.push(Line::sentence(format!("What to try: {hint}")));
        }
    }
    lines.extend(test.notes.iter().map(Line::plain));
    let details = test.details.iter();
    lines.extend(details.map(|details| Line::plain("All of it is in ").and_code(details)));
    lines
}

fn skipped(report: &SuiteReport) -> Option<Section> {
    let skipped = |test: &&TestReport| test.outcome == TestOutcome::Skipped;
    let tests = report.tests.iter().filter(skipped).take(BAD_MAX);
    let lines: Vec<Line> = tests
        .map(|test| Line::plain(name(test)).and(format!(": {}", reason(test))))
        .collect();
    (!lines.is_empty()).then(|| Section::new("What was not run").list(lines))
}

/// What a reader should know of tests that passed.
fn notes(report: &SuiteReport) -> Option<Section> {
    let passed = |test: &&TestReport| test.outcome == TestOutcome::Passed;
    let tests = report.tests.iter().filter(passed);
    let notes = tests.flat_map(|test| test.notes.iter().map(move |note| (test, note)));
    let lines: Vec<Line> = notes
        .take(BAD_MAX)
        .map(|(test, note)| Line::plain(name(test)).and(format!(": {note}")))
        .collect();
    (!lines.is_empty()).then(|| Section::new("Notes").list(lines))
}

fn tests(report: &SuiteReport) -> Option<Section> {
    let mut table = Table::new(["Test", "Kind", "Outcome", "Time", "Where"]);
    for test in report.tests.iter().take(ROWS_MAX) {
        let outcome = match test.repeated {
            Some(repeated) => format!(
                "{} ({} of {} passed)",
                test.outcome.name(),
                repeated.passed,
                repeated.times
            ),
            None => test.outcome.name().to_owned(),
        };
        let time = match test.outcome {
            TestOutcome::Skipped => String::new(),
            _ => figure::milliseconds(test.duration_ms),
        };
        table.push([
            Line::plain(name(test)),
            Line::plain(test.kind.name()),
            Line::plain(outcome),
            Line::plain(time),
            Line::code(place(test)),
        ]);
    }
    let section = Section::new("All tests").table(table);
    (!section.blocks.is_empty()).then_some(section)
}
