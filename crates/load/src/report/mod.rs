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

/// How many a terminal lists before the rest is counted.
const LISTED_MAX: usize = 10;

/// Names and reasons, of tools that were skipped in a run.
fn skipped_section(tools: &[SkippedTool]) -> Section {
    let tools = tools.iter();
    not_called(tools.map(|tool| (tool.name.as_str(), tool.reason.as_str())))
}

/// Tools that were not called because they may write, with the reason of each and how to call them.
pub fn not_called<'a>(tools: impl Iterator<Item = (&'a str, impl Into<Line>)>) -> Section {
    let rows = tools.map(|(name, reason)| [Line::code(name), reason.into()]);
    let table = Table::new(["", ""]).rows(rows).at_most(LISTED_MAX);
    let title = sentence!(
        "Not called, as they may write ({} calls them)",
        setting("allow_writes")
    );
    Section::new(title.rendered()).table(table)
}

#[cfg(test)]
mod browser;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
