//! Reports as bytes: functions from what was found to what is printed or written.

mod comparison;
mod headline;
mod histogram;
mod html;
mod load;
mod markdown;
mod progress;
mod recorded;
mod runs;
mod sections;
mod side_by_side;
pub mod skipped;

pub use comparison::comparison_text;
pub use histogram::histogram_text;
pub use html::html;
pub use load::{Files, load_text};
pub use markdown::markdown;
pub use progress::progress_line;
pub use recorded::recording_text;
pub use runs::runs_text;
pub use side_by_side::side_by_side_text;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
