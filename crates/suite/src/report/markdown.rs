//! The report for a summary of a build, or a comment.

use mcprove_document::markdown::{draw_section, escape};

use super::problems::{summary, word};
use super::sections;
use crate::run::SuiteReport;

/// The report as markdown.
pub(super) fn render(report: &SuiteReport) -> String {
    let picture = match word(report) {
        "PASS" => "✅",
        "FAIL" | "ERROR" => "❌",
        _ => "⚠️",
    };
    let mut text = format!(
        "# {picture} {}\n\n{}\n",
        word(report),
        escape(&summary(report))
    );
    for section in sections::all(report) {
        draw_section(&section, &mut text);
    }
    text
}
