//! For people: what failed, why, what to try, and a line that sums it up at the end.

use std::fmt::Write as _;

use mcprove_document::figure;
use mcprove_document::style::{Color, Style};
use mcprove_document::table::{cut, lay_out, wrap};
use unicode_width::UnicodeWidthStr;

use super::problems::{Problem, bad, line, name, place, problems, reason, summary, told, word};
use crate::run::{SuiteReport, TestKind, TestOutcome, TestReport};

/// How many tests that did not pass are told.
const BAD_MAX: usize = 50;
/// How many problems of each are told.
const PROBLEMS_MAX: usize = 10;
/// How many notes of each are told.
const NOTES_MAX: usize = 5;
/// Up to so many tests those that passed are listed too.
const LISTED_MAX: usize = 40;
/// How far what is said of a test is indented.
const INDENT: usize = 4;

/// The report for a terminal.
pub fn suite_text(report: &SuiteReport, style: Style) -> String {
    let mut text = String::new();
    for problem in report.problems.iter().take(BAD_MAX) {
        let _ = writeln!(text, "{}", told(problem));
        if let Some(hint) = &problem.hint {
            text.push_str(&block(&format!("hint: {}", line(hint)), style));
        }
    }
    let mut tests = bad(report);
    for test in tests.by_ref().take(BAD_MAX) {
        text.push_str(&of_bad(test, style));
        text.push('\n');
    }
    let more = tests.count();
    if more > 0 {
        let _ = writeln!(text, "{more} more did not pass; --report json has all\n");
    }
    text.push_str(&of_others(report, style));
    let steps = next_steps(report);
    if !steps.is_empty() {
        text.push_str("Next\n");
        let rows: Vec<Vec<String>> = steps
            .into_iter()
            .map(|step| vec!["-".to_owned(), step])
            .collect();
        text.push_str(&lay_out(&rows, style.width));
        text.push('\n');
    }
    text.push_str(&last_line(report, style));
    text
}

/// The line that sums it up.
fn last_line(report: &SuiteReport, style: Style) -> String {
    let word = word(report);
    let color = match word {
        "PASS" => Color::Green,
        "INTERRUPTED" | "SKIPPED" => Color::Yellow,
        _ => Color::Red,
    };
    let rest = style.width.saturating_sub(word.len() + 2);
    let lines = wrap(&summary(report), rest);
    let indent = format!("\n{}", " ".repeat(word.len() + 2));
    format!("{}  {}\n", style.paint(word, color), lines.join(&indent))
}

/// A test that did not pass: its name and place, then what is wrong and what to try.
fn of_bad(test: &TestReport, style: Style) -> String {
    let word = match test.outcome {
        TestOutcome::Error => "ERROR",
        _ => "FAIL",
    };
    let (name, place) = (name(test), place(test));
    let room = style.width.saturating_sub(word.len() + 2);
    let mut lines = style.paint(word, Color::Red);
    if name.width() + 2 + place.width() <= room {
        let _ = writeln!(lines, "  {name}  {place}");
    } else {
        let indent = format!("\n{}", " ".repeat(word.len() + 2));
        let _ = writeln!(lines, "  {}", wrap(&name, room).join(&indent));
        lines.push_str(&block(&place, style));
    }
    let problems = problems(test);
    for problem in problems.iter().take(PROBLEMS_MAX) {
        lines.push_str(&of_problem(problem, style));
    }
    let more = problems.len().saturating_sub(PROBLEMS_MAX);
    if more > 0 {
        let words = format!("and {more} more; --report json has all");
        lines.push_str(&block(&words, style));
    }
    for note in test.notes.iter().take(NOTES_MAX) {
        lines.push_str(&block(&line(note), style));
    }
    if let Some(details) = &test.details {
        lines.push_str(&block(&format!("see {}", line(details)), style));
    }
    lines
}

fn of_problem(problem: &Problem, style: Style) -> String {
    let mut text = block(&problem.sentence(), style);
    if let Some((expected, actual)) = &problem.values {
        text.push_str(&block(&format!("expected: {expected}"), style));
        text.push_str(&block(&format!("actual:   {actual}"), style));
    }
    if let Some(hint) = &problem.hint {
        text.push_str(&block(&format!("hint: {hint}"), style));
    }
    text
}

/// A text below a name.
fn block(text: &str, style: Style) -> String {
    let indent = " ".repeat(INDENT);
    let lines = wrap(text, style.width.saturating_sub(INDENT).max(20));
    let lines = lines.into_iter().map(|line| format!("{indent}{line}\n"));
    lines.collect()
}

/// The tests that passed or were not run, unless there are too many to look at.
fn of_others(report: &SuiteReport, style: Style) -> String {
    let is_other =
        |test: &&TestReport| matches!(test.outcome, TestOutcome::Passed | TestOutcome::Skipped);
    let is_short = report.tests.len() <= LISTED_MAX;
    let is_told = |test: &&TestReport| is_short || test.outcome == TestOutcome::Skipped;
    let tests = report.tests.iter().filter(is_other).filter(is_told);
    let rows: Vec<Vec<String>> = tests
        .take(LISTED_MAX)
        .map(|test| {
            let (word, about) = match test.outcome {
                TestOutcome::Skipped => ("skipped", reason(test)),
                _ => ("passed", passed(test)),
            };
            let room = style.width / 2;
            vec![word.to_owned(), cut(&name(test), room), about]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    lay_out(&rows, style.width) + "\n"
}

/// What is worth knowing of a test that passed.
fn passed(test: &TestReport) -> String {
    let mut parts = vec![figure::milliseconds(test.duration_ms)];
    if let Some(repeated) = test.repeated {
        parts.push(format!("{} times", repeated.times));
    }
    // Of a load there is more to look at than that it passed.
    let details = test.details.iter().filter(|_| test.kind == TestKind::Load);
    parts.extend(details.map(|details| line(details)));
    parts.extend(test.notes.iter().take(NOTES_MAX).map(|note| line(note)));
    parts.join(", ")
}

fn next_steps(report: &SuiteReport) -> Vec<String> {
    let mut steps = Vec::new();
    let is_bad = bad(report).next().is_some();
    if is_bad && report.tests.len() > 1 {
        steps.push(
            "to run only what did not pass again: the same command with --last-failed".to_owned(),
        );
    }
    let is_flaky = |test: &TestReport| test.repeated.is_some_and(|repeated| repeated.flaky);
    if report.tests.iter().any(is_flaky) {
        steps.push("a flaky test depends on something that changes: time, order, other tests, a shared server (`fresh: true` gives each test its own)".to_owned());
    }
    let is_skipped = |test: &TestReport| test.outcome == TestOutcome::Skipped;
    let is_run = report.problems.is_empty() && !report.partial;
    if is_run && report.tests.iter().all(is_skipped) {
        steps.push("every test was skipped, so nothing is proven".to_owned());
    }
    steps
}
