//! Every format: what it says, and that nothing a server said does anything in it.

use std::path::Path;

use harness::browser::{PLANTED, browser, open, opened_up};
use mcprove_document::html::POLICY;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::run::{TestOutcome, TestReport};

/// Every format.
const FORMATS: [&str; 7] = [
    "terminal", "json", "junit", "tap", "github", "markdown", "html",
];

/// What a server says when it means harm to whoever reads.
const HOSTILE: [&str; 5] = [
    "\u{1b}[2J\u{1b}]0;owned\u{7}",
    "a\r\n::error::owned\nnot ok 99 - owned\n",
    "<script>document.title = 'owned'</script> & ]]> \u{fffe}",
    "# SKIP | [x](http://e.vil) `",
    "\u{202e}desrever",
];

fn render(name: &str, report: &SuiteReport) -> String {
    super::render(name, report, Path::new("kept"), Style::plain(80))
}

#[test]
fn the_formats_are_as_reviewed() {
    for format in ["terminal", "junit", "tap", "github", "markdown"] {
        let text = render(format, &samples::mixed());
        insta::assert_snapshot!(format!("suite_{format}"), text);
    }
    insta::assert_snapshot!(
        "suite_terminal_healthy",
        render("terminal", &samples::healthy())
    );
    let text = render("terminal", &samples::interrupted());
    insta::assert_snapshot!("suite_terminal_interrupted", text);
}

#[test]
fn an_interrupted_run_is_not_green() {
    let text = render("junit", &samples::interrupted());
    assert!(text.contains("errors=\"1\""), "{text}");
    assert!(
        text.contains("the run was interrupted, so tests are missing"),
        "{text}"
    );
    assert!(!render("junit", &samples::healthy()).contains("interrupted"));
}

#[test]
fn a_run_is_named_once() {
    for format in ["tap", "junit", "github", "markdown"] {
        let mut report = samples::mixed();
        for failure in report.tests.iter_mut().flat_map(|test| &mut test.failures) {
            failure.run = Some(1);
            failure.message = "it is 1".into();
        }
        let text = render(format, &report);
        assert!(text.contains("run 1: it is 1"), "{text}");
        assert!(!text.contains("run 1: run 1:"), "{text}");
    }
}

#[test]
fn the_json_is_the_report() {
    let report = samples::mixed();
    let read: SuiteReport = serde_json::from_str(&render("json", &report)).unwrap();
    assert_eq!(read, report);
}

#[test]
fn what_is_named_opens_from_where_the_user_stands() {
    let mut report = samples::mixed();
    report.tests[2].details = Some("traces/suite/pays-once.json".to_owned());
    for format in FORMATS {
        let text = render(format, &report);
        let is_from_here = text.contains("kept/traces/suite/pays-once.json");
        let is_told = text.contains("traces/suite/pays-once.json");
        // What programs compare does not depend on the folder.
        assert_eq!(is_from_here, format != "json", "{format}: {text}");
        assert!(is_told, "{format}: {text}");
        assert!(!text.contains("kept/runs"), "{format}: {text}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut long = samples::mixed();
    for test in &mut long.tests {
        test.name = test.name.repeat(12);
        test.notes
            .push("a note that goes on and on ".repeat(9).into());
    }
    for report in [samples::mixed(), samples::healthy(), long] {
        let text = render("terminal", &report);
        let wide: Vec<&str> = text.lines().filter(|line| line.width() > 80).collect();
        assert!(wide.is_empty(), "{wide:?}");
    }
}

#[test]
fn an_interrupted_run_is_no_success_for_any_reader() {
    let report = samples::interrupted();
    assert!(!report.passed);
    assert!(render("tap", &report).ends_with("Bail out! the run was interrupted\n"));
    assert!(render("github", &report).contains("::error title=mcprove::"));
    assert!(render("terminal", &report).contains("INTERRUPTED"));
}

#[test]
fn a_test_that_says_nothing_is_not_taken_for_a_pass() {
    let mut report = samples::healthy();
    report.tests[0].outcome = TestOutcome::Error;
    report.passed = false;
    assert!(render("junit", &report).contains("errors=\"1\""));
    assert!(render("tap", &report).contains("not ok 1 - adds numbers"));
    assert!(render("terminal", &report).contains("no reason is given"));
}

#[test]
fn nothing_that_a_server_said_does_anything() {
    for text in HOSTILE {
        let report = samples::planted(text);
        for format in FORMATS {
            let shown = render(format, &report);
            let is_odd = |character: char| {
                character.is_control() && character != '\n' || character == '\u{202e}'
            };
            assert!(!shown.contains(is_odd), "{format}: {shown:?}");
        }
        let github = render("github", &report);
        let count = github.lines().filter(|line| line.starts_with("::")).count();
        assert_eq!(count, github.lines().count(), "{github}");
        assert_eq!(count, report.tests.len(), "{github}");
        let tap = render("tap", &report);
        let is_row = |line: &&str| line.starts_with("ok ") || line.starts_with("not ok ");
        assert_eq!(tap.lines().filter(is_row).count(), report.tests.len());
        let is_skipped = |line: &&str| is_row(line) && line.contains(" # ");
        let skipped = report.counts().skipped;
        assert_eq!(tap.lines().filter(is_skipped).count(), skipped, "{tap}");
        for diagnosis in tap.split("  ---\n").skip(1) {
            let yaml = diagnosis.split("  ...\n").next().unwrap();
            let read = mcprove_settings::tree::Document::from_yaml(yaml, "tap");
            assert!(read.is_ok(), "{read:?}: {yaml}");
            assert!(!yaml.contains(['\u{fffe}', '\u{ffff}']), "{yaml:?}");
        }
        let html = render("html", &report);
        assert!(!html.contains("<script>"), "{html}");
        let markdown = render("markdown", &report);
        let is_heading = |line: &&str| line.starts_with('#') && line.contains("SKIP");
        assert_eq!(markdown.lines().find(is_heading), None, "{markdown}");
    }
}

#[test]
fn many_tests_are_summed_up() {
    let mut report = samples::healthy();
    let one = report.tests[0].clone();
    report.tests = vec![one.clone(); 500];
    report.tests.extend((0..80).map(|_| TestReport {
        outcome: TestOutcome::Failed,
        ..one.clone()
    }));
    let text = render("terminal", &report);
    assert!(text.contains("30 more did not pass"), "{text}");
    assert!(!text.contains("  passed  "), "{text}");
    assert!(text.contains("580 tests: 500 passed, 80 failed"), "{text}");
}

#[test]
fn the_page_of_a_suite_renders_and_what_a_server_said_stays_a_text() {
    let Some(browser) = browser() else { return };
    let render = |report| super::render("html", &report, Path::new("runs"), Style::plain(80));
    let planted = render(samples::planted(&PLANTED.concat()));
    for page in [
        render(samples::mixed()),
        opened_up(&planted, POLICY),
        planted,
    ] {
        let (dom, console) = open(browser, &page, 800);
        assert_eq!(console, "");
        assert!(dom.contains("<title>ERROR: "), "{dom}");
        for tag in ["<section>", "<table", "<td ", "<li>", "</main>"] {
            let (written, read) = (page.matches(tag).count(), dom.matches(tag).count());
            assert_eq!(written, read, "{tag}");
        }
    }
}
