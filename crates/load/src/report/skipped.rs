//! Tools that were not called because they may write, with the reason of each and how to call them.

use std::fmt::Write as _;

use mcprove_client::permission::SkippedTool;
use mcprove_document::table::wrap;
use mcprove_settings::printable::printable;

/// How many are listed before the rest is counted.
const LISTED_MAX: usize = 10;
/// The longest name and the longest reason that are shown whole.
const NAME_MAX: usize = 60;
const REASON_MAX: usize = 200;

/// How to call them.
pub(super) const INCLUDE: &str = "--allow-writes calls them";

/// Names and reasons.
pub(super) fn pairs(tools: &[SkippedTool]) -> Vec<(&str, &str)> {
    let tools = tools.iter();
    tools
        .map(|tool| (tool.name.as_str(), tool.reason.as_str()))
        .collect()
}

/// Names and reasons as lines, and how many more there are.
pub(super) fn skipped_lines(skipped: &[(&str, &str)]) -> Vec<String> {
    let listed = skipped.iter().take(LISTED_MAX);
    let mut lines: Vec<String> = listed
        .map(|(name, reason)| {
            format!(
                "{}: {}",
                printable(name, NAME_MAX),
                printable(reason, REASON_MAX)
            )
        })
        .collect();
    if skipped.len() > LISTED_MAX {
        lines.push(format!("and {} more", skipped.len() - LISTED_MAX));
    }
    lines
}

/// A section of a report on the terminal; empty where nothing was skipped.
pub fn skipped_text(skipped: &[(&str, &str)], width: usize) -> String {
    if skipped.is_empty() {
        return String::new();
    }
    let mut text = format!("\nnot called, as they may write ({INCLUDE}):\n");
    for line in skipped_lines(skipped) {
        let parts = wrap(&line, width.saturating_sub(4).max(20));
        let _ = writeln!(text, "  {}", parts.join("\n    "));
    }
    text
}
