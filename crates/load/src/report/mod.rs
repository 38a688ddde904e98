//! Reports as documents: functions from what was found to blocks that any renderer can draw.

mod comparison;
mod headline;
mod histogram;
mod progress;
mod recorded;
mod runs;
mod sections;
mod side_by_side;
pub mod skipped;

pub use comparison::comparison_document;
pub use histogram::histogram;
pub use progress::progress_line;
pub use recorded::recording_document;
pub use runs::runs_document;
pub use sections::{Files, document};
pub use side_by_side::side_by_side_document;

#[cfg(test)]
mod browser;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
