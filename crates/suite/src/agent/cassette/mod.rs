//! Cassettes: all runs of an agent, recorded, and replayed without a network, a server or a process.
//!
//! A [`Cassette`] (format `cassette.v1`) holds what it is a recording of ([`CassetteInputs`]), and of each run every exchange with
//! the model and every call of a tool, byte for byte but for [redactions](Redactor), which are marked. A
//! [`Recorder`] stands before the wire and the tools of a run, a [`Replayer`] in their place: it finds the answer to
//! a request by what the request says. Of an agent that is a process the trace is kept, for it cannot be run again.
//!
//! Nothing in a cassette is run, opened or connected to: it is answers, and what they are answers to.

mod difference;
mod file;
mod format;
mod inputs;
mod record;
mod replay;

#[cfg(test)]
mod tests;

pub use file::{
    BYTES_MAX, FOLDER, file_name, none_of_another_model, read, same_file, same_file_of_suites,
    write,
};
pub(crate) use file::{drift, path, shown, suite_name};
pub use format::{
    Body, CASSETTE_FORMAT, Cassette, EXCHANGES_MAX, ModelExchange, RUNS_MAX, RecordedOutcome,
    RecordedRun, RecordedVerdict, ToolExchange, WireFailure,
};
pub use inputs::{CassetteInputs, FitsBudget, FitsMock, FitsServer};
pub use record::{RECORDED_BYTES_MAX, Recorder, Take, Variables};
pub use replay::{Replayer, recorded};
