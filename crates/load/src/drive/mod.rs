//! Load: what is done to a server (`definition`, `workload`), how it is carried out
//! (`executor`, `worker`, `connection_slot`, `pacer`), and one file per scenario (`scenario`).
//!
//! A scenario only emits events; [`run`](crate::run) makes a report of them.

pub(crate) mod calibration;
pub(crate) mod connection_slot;
pub(crate) mod context;
mod definition;
pub(crate) mod driver;
pub(crate) mod executor;
pub(crate) mod mix;
mod pacer;
mod pacer_thread;
pub(crate) mod sampler;
pub mod scenario;
pub(crate) mod schedule;
pub(crate) mod stop;
mod strict;
pub(crate) mod token;
pub(crate) mod worker;
mod workload;

pub use context::{Connection, PhaseFact, RunContext, SharedRun};
pub use definition::{LoadSettings, Scenario};
pub use mix::PreparedCall;
pub use scenario::{ScenarioKind, ScenarioType};
pub use stop::{Stop, StopLevel};
pub use workload::{ErrorBehavior, Pattern, Step, ToolCall};

use crate::prelude::*;

/// Starts a thread of ours.
pub(crate) fn spawn_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<std::thread::JoinHandle<T>, RunError> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map_err(RunError::of_thread)
}

/// A runtime for the thread that it is made on.
pub(crate) fn thread_runtime() -> Result<tokio::runtime::Runtime, RunError> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().map_err(RunError::of_thread)
}
