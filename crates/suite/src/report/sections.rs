//! Suites as documents: what is wrong, test by test, and a table of all; the tests that would be run; and the live line.

use super::problems::{
    Problem, bad, counted, line, name, place, placed, problems, reason, summary, word,
};
use crate::prelude::*;
use crate::run::SuiteList;
use mcprove_document::block::{
    Block, Document, Figure, Finding, Line, Section, Table, Tone, Verdict,
};
use mcprove_document::figure;
use mcprove_document::terminal::cut;

/// How many tests that did not pass are shown.
const BAD_MAX: usize = 50;
/// How many problems and notes of each are shown.
const PROBLEMS_MAX: usize = 10;
/// How many tests are in the table.
const ROWS_MAX: usize = 5000;
/// With more of them a terminal shows none.
const TERMINAL_ROWS_MAX: usize = 40;

/// The outcome of suites.
pub fn suite_document(report: &SuiteReport) -> Document {
    let (tone, word) = word(report);
    let unread = report.problems.iter().filter_map(|it| it.file.as_ref());
    let files = report.tests.iter().map(|test| &test.file).chain(unread);
    let mut files: Vec<String> = files.cloned().collect();
    files.dedup();
    if files.is_empty() {
        files.push("mcprove run".to_owned());
    }
    let mut document = Document {
        title: "mcprove run".to_owned(),
        subject: files,
        verdict: Some(Verdict::new(tone, word, summary(report))),
        ends_with_verdict: true,
        sections: vec![
            counts(report),
            unrun(report),
            wrong(report),
            skipped(report),
            notes(report),
            coverage(report),
            tests(report),
        ],
        more_in: json_has_all(),
        ..Document::default()
    };
    document.next_steps(next_steps(report));
    document
}

fn counts(report: &SuiteReport) -> Section {
    let counts = report.counts();
    let figures = [
        ("Tests", report.tests.len(), false),
        ("Passed", counts.passed, false),
        ("Failed", counts.failed, true),
        ("Errors", counts.errors, true),
        ("Skipped", counts.skipped, false),
    ];
    let figures = figures.map(|(name, count, is_bad)| {
        Figure::new(name, count.to_string()).bad_if(is_bad && count > 0)
    });
    Section::default()
        .block(Block::Figures(figures.into()))
        .detail()
}

/// What kept all tests from being run.
fn unrun(report: &SuiteReport) -> Section {
    let findings = report.problems.iter().take(BAD_MAX).map(|problem| {
        let sentence = Line::of(&placed(problem));
        Finding::new(Tone::Bad, "error", sentence).hint(problem.hint.as_ref())
    });
    Section::new("Why nothing was run").findings(findings)
}

/// Where all of it is, after what is cut short.
fn json_has_all() -> String {
    sentence!("; {} has all", assignment("report", "json")).rendered()
}

fn wrong(report: &SuiteReport) -> Section {
    let mut tests = bad(report);
    let section =
        Section::new("What did not pass").findings(tests.by_ref().take(BAD_MAX).map(finding));
    match tests.count() {
        0 => section,
        more => section.paragraph(format!("{more} more did not pass{}", json_has_all())),
    }
}

/// A test that did not pass: its name and place, then what is wrong and what to try.
fn finding(test: &TestReport) -> Finding {
    let word = match test.outcome {
        TestOutcome::Error => "ERROR",
        _ => "FAIL",
    };
    let name = Line::strong(name(test)).and("  ").and(place(test));
    let mut finding = Finding::new(Tone::Bad, word, name);
    let problems = problems(test);
    for problem in problems.iter().take(PROBLEMS_MAX) {
        finding.lines.extend(lines(problem));
    }
    let more = problems.len().saturating_sub(PROBLEMS_MAX);
    if more > 0 {
        finding = finding.line(format!("and {more} more{}", json_has_all()));
    }
    let notes = test.notes.iter().take(PROBLEMS_MAX);
    finding.lines.extend(notes.map(Line::of));
    let details = test
        .details
        .iter()
        .map(|details| Line::plain("see ").and(details));
    finding.lines.extend(details);
    // The name has a line of its own, whatever follows.
    if finding.lines.len() == 1 {
        finding.lines.insert(0, std::mem::take(&mut finding.name));
    }
    finding
}

fn lines((what, values): &Problem) -> Vec<Line> {
    let mut lines = vec![Line::of(&what.sentence())];
    if let Some((expected, actual)) = values {
        lines.push(Line::plain("expected: ").and(expected));
        lines.push(Line::plain("actual:   ").and(actual));
    }
    if !what.hint.is_empty() {
        lines.push(Line::plain("hint: ").and(Line::of(&what.hint)));
    }
    lines
}

fn skipped(report: &SuiteReport) -> Section {
    let skipped = |test: &&TestReport| test.outcome == TestOutcome::Skipped;
    let lines = report
        .tests
        .iter()
        .filter(skipped)
        .take(BAD_MAX)
        .map(|test| format!("{}: {}", name(test), reason(test)));
    Section::new("What was not run").list(lines)
}

/// What a reader should know of tests that passed.
fn notes(report: &SuiteReport) -> Section {
    let passed = |test: &&TestReport| test.outcome == TestOutcome::Passed;
    let lines = report
        .tests
        .iter()
        .filter(passed)
        .flat_map(|test| test.notes.iter().map(move |note| (test, note)))
        .take(BAD_MAX)
        .map(|(test, note)| Line::plain(name(test)).and(": ").and(Line::of(note)));
    Section::new("Notes").list(lines)
}

/// The tools that no test called.
fn coverage(report: &SuiteReport) -> Section {
    let missing = report
        .coverage
        .iter()
        .filter(|it| !it.tools.missing.is_empty());
    let lines = missing.map(|it| Line::code(&it.server).and(": ").and(it.tools.line()));
    Section::new("Tools called").list(lines)
}

fn tests(report: &SuiteReport) -> Section {
    let mut table =
        Table::new(["Test", "Kind", "Outcome", "Time", "Where", "Details"]).numbers(3..4);
    for test in report.tests.iter().take(ROWS_MAX) {
        let (tone, word) = match test.outcome {
            TestOutcome::Passed => (Tone::Good, test.outcome.name()),
            TestOutcome::Skipped => (Tone::Unclear, test.outcome.name()),
            _ => (Tone::Bad, test.outcome.name()),
        };
        let repeated = test
            .repeated
            .map(|it| format!(" ({} of {} passed)", it.passed, it.times));
        let time = match test.outcome {
            TestOutcome::Skipped => String::new(),
            _ => figure::milliseconds(test.duration_ms),
        };
        // Of a load there is more to look at than that it passed.
        let details = test.details.iter().filter(|_| test.kind == TestKind::Load);
        table.push([
            Line::plain(name(test)),
            Line::plain(test.kind.name()),
            Line::toned(tone, word).and(repeated.unwrap_or_default()),
            Line::plain(time),
            Line::code(place(test)),
            Line::join(details.map(Line::code), ""),
        ]);
    }
    let section = Section::new("All tests").table(table);
    if report.tests.len() > TERMINAL_ROWS_MAX {
        section.detail()
    } else {
        section
    }
}

fn next_steps(report: &SuiteReport) -> Vec<Line> {
    let mut steps = Vec::new();
    let is_bad = bad(report).next().is_some();
    if is_bad && report.tests.len() > 1 {
        steps.push(
            sentence!(
                "to rerun only what did not pass: the same command with {}",
                setting("last_failed")
            )
            .rendered()
            .into(),
        );
    }
    let is_flaky = |test: &TestReport| test.repeated.is_some_and(|repeated| repeated.flaky);
    if report.tests.iter().any(is_flaky) {
        let step = "a flaky test depends on something that changes: time, order, other tests, a shared server (";
        let step = Line::plain(step).and_code("fresh: true");
        steps.push(step.and(" gives each test its own)"));
    }
    let is_skipped = |test: &TestReport| test.outcome == TestOutcome::Skipped;
    let is_run = report.problems.is_empty() && !report.partial;
    if is_run && report.tests.iter().all(is_skipped) {
        steps.push("every test was skipped, so nothing is proven".into());
    }
    steps
}

/// The tests: kind, where it stands, then its whole name with its tags, and why it is skipped.
pub fn suite_list_document(list: &SuiteList) -> Document {
    let mut table = Table::new(["", "", "", ""]);
    for test in &list.tests {
        let mut name = Line::plain(&test.name);
        if !test.tags.is_empty() {
            name = name.and(format!(" [{}]", test.tags.join(", ")));
        }
        if let Some(reason) = &test.skip {
            name = name.and(format!(" (skipped: {reason})"));
        }
        table.push([
            test.kind.name().into(),
            test.skip.as_ref().map_or("", |_| "skipped").into(),
            format!("{}:{}", test.file, test.line).into(),
            name,
        ]);
    }
    let count = counted(list.tests.len(), "test");
    let files: BTreeSet<&str> = list.tests.iter().map(|test| test.file.as_str()).collect();
    let files: Vec<&str> = files.into_iter().collect();
    Document {
        title: format!("listed: {count} in {}", files.join(", ")),
        sections: vec![
            Section::default().table(table),
            Section::default().paragraph(count),
        ],
        ..Document::default()
    }
}

/// How suites go, in one line of at most `width` columns: how many tests ended, how many of them did not
/// pass, and which one was begun last.
///
/// ```
/// use mcprove_suite::report::suite_progress_line;
/// use mcprove_suite::run::Counts;
///
/// let counts = Counts { passed: 11, failed: 1, ..Counts::default() };
/// let line = suite_progress_line(counts, 40, Some("search finds things"), 60);
/// assert_eq!(line, "12 of 40 tests  1 failed  search finds things");
/// ```
pub fn suite_progress_line(
    counts: Counts,
    tests: usize,
    current: Option<&str>,
    width: usize,
) -> String {
    let ended = counts.passed + counts.failed + counts.errors + counts.skipped;
    let tests = counted(tests, "test");
    let mut parts = vec![format!("{ended} of {tests}")];
    for (count, word) in [(counts.failed, "failed"), (counts.errors, "errors")] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    parts.extend(current.map(line));
    cut(&parts.join("  "), width)
}
