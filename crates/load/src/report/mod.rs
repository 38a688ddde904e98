//! Reports as documents: functions from what was found to blocks that any renderer can draw.

mod comparison;
mod headline;
mod histogram;
mod progress;
mod recorded;
mod runs;
mod sections;
mod side_by_side;

/// What a report is written with.
mod prelude {
    pub use mcprove_document::prelude::{Finding, Line, Section, Verdict, *};
    pub use mcprove_settings::printable::printable;

    pub(super) use super::{headline, skipped_section};
    pub use crate::prelude::*;
}

pub use comparison::comparison_document;
pub use histogram::histogram;
pub use progress::progress_line;
pub use recorded::recording_document;
pub use runs::runs_document;
pub use sections::{Files, document};
pub use side_by_side::side_by_side_document;

use self::prelude::*;

/// How many tools are named where details are not shown.
const NAMED_MAX: usize = 3;

/// Names and reasons, of tools that were skipped in a run.
fn skipped_section(tools: &[SkippedTool]) -> Section {
    let tools = tools.iter();
    not_called(tools.map(|tool| (tool.name.as_str(), tool.reason.as_str())))
}

/// Tools that were not called because they may write, with the reason of each and how to call them.
pub fn not_called<'a>(tools: impl Iterator<Item = (&'a str, impl Into<Line>)>) -> Section {
    let rows: Vec<_> = tools
        .map(|(name, reason)| [Line::code(name), reason.into()])
        .collect();
    let names = rows.iter().take(NAMED_MAX).map(|[name, _]| name.clone());
    let mut brief = Line::plain(format!("{}: ", counted(number::count(rows.len()), "tool")));
    brief = brief.and(Line::join(names, ", "));
    if let Some(more @ 1..) = rows.len().checked_sub(NAMED_MAX) {
        brief = brief.and(format!(" and {more} more"));
    }
    let title = sentence!(
        "Not called, as they may write ({} calls them)",
        setting("allow_writes")
    );
    let section = Section::new(title.rendered());
    match rows.as_slice() {
        [] => section,
        _ => section
            .table(Table::new(["", ""]).rows(rows))
            .detail()
            .brief(brief),
    }
}

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
