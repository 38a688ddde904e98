//! Reports as bytes: functions from what was found to what is printed or written.

mod printable;
mod probe;
mod table;

pub use printable::{printable, printable_json};
pub use probe::{ProbeStyle, probe_text};
