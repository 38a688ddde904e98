//! The report as one file that needs nothing else, not even a script.

use std::fmt::Write as _;

use mcprove_document::html::{PAGE_END, draw_plain_section, escape, page_top};

use super::problems::{summary, word};
use super::sections;
use crate::run::SuiteReport;

/// The report as HTML.
pub(super) fn render(report: &SuiteReport) -> String {
    let (word, summary) = (word(report), summary(report));
    let class = match word {
        "PASS" => "pass",
        "FAIL" => "fail",
        _ => "unclear",
    };
    let mut page = page_top(&format!("{word}: {summary}"));
    let _ = write!(
        page,
        "<header>\n<p class=\"status {class}\"><strong>{word}</strong>{}</p>\n<h1>mcprove run</h1>\n<dl class=\"tiles\">\n",
        escape(&summary)
    );
    let counts = report.counts();
    for (name, count, is_bad) in [
        ("Tests", report.tests.len(), false),
        ("Passed", counts.passed, false),
        ("Failed", counts.failed, true),
        ("Errors", counts.errors, true),
        ("Skipped", counts.skipped, false),
    ] {
        let class = if is_bad && count > 0 {
            " class=\"bad\""
        } else {
            ""
        };
        let _ = writeln!(page, "<div{class}><dt>{name}</dt><dd>{count}</dd></div>");
    }
    page.push_str("</dl>\n</header>\n");
    for section in sections::all(report) {
        draw_plain_section(&section, &mut page);
    }
    page.push_str(PAGE_END);
    page
}
