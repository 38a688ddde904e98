//! Reports as bytes: functions from what was found to what is printed or written.

mod audit;
mod comparison;
mod document;
mod figure;
mod headline;
mod histogram;
mod html;
mod junit;
mod load;
mod markdown;
mod printable;
mod probe;
mod progress;
mod recorded;
mod runs;
mod score;
mod sections;
mod side_by_side;
mod skipped;
mod style;
mod suite;
mod table;

pub use audit::{AuditLines, audit_comparison_text, audit_replay_text, audit_row_text};
pub use comparison::comparison_text;
pub use histogram::histogram_text;
pub use html::html;
pub use junit::{score_junit, unread_junit};
pub use load::{Files, load_text};
pub use markdown::markdown;
pub(crate) use printable::is_hidden;
pub use printable::{escape_hidden, printable, printable_json};
pub use probe::probe_text;
pub use progress::progress_line;
pub use recorded::recording_text;
pub use runs::runs_text;
pub use score::{ScoreDocument, Scored, score_text};
pub use side_by_side::side_by_side_text;
pub use style::Style;
pub use suite::{
    REPORTERS, Reporter, suite_explanation, suite_list_text, suite_progress_line, suite_text,
};

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
