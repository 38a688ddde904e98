//! Tools that were not called because they may write, with the reason of each and how to call them.

use mcprove_client::permission::SkippedTool;
use mcprove_document::prelude::*;
use mcprove_settings::message::{message, setting};

/// How many a terminal lists before the rest is counted.
const LISTED_MAX: usize = 10;

/// Names and reasons, of tools that were skipped in a run.
pub fn skipped_section(tools: &[SkippedTool]) -> Section {
    let tools = tools.iter();
    not_called(tools.map(|tool| (tool.name.as_str(), tool.reason.as_str())))
}

/// Names and reasons.
pub fn not_called<'a>(tools: impl Iterator<Item = (&'a str, impl Into<Line>)>) -> Section {
    let rows = tools.map(|(name, reason)| [Line::code(name), reason.into()]);
    let table = Table::new(["", ""]).rows(rows).at_most(LISTED_MAX);
    let title = message![
        "Not called, as they may write (",
        setting("allow_writes"),
        " calls them)"
    ];
    Section::new(title.text()).table(table)
}
