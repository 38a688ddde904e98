//! Load: what is done to a server (`definition`, `workload`), how it is carried out
//! (`executor`, `worker`, `connection_slot`, `pacer`), and one file per scenario (`scenario`).
//!
//! A scenario only emits events; [`run`](crate::run) makes a report of them.

mod after_load;
pub(crate) mod calibration;
mod connection_slot;
mod context;
mod control_call;
mod definition;
mod driver;
mod executor;
mod machine_watch;
mod mix;
mod pacer;
mod pacer_thread;
mod recent_calls;
mod reply_text;
mod sampled_reply;
mod sampler;
pub mod scenario;
mod schedule;
mod starts;
mod stop;
mod strict;
mod token;
mod worker;
mod workload;

// What is known within the crate only.
pub(crate) use self::{
    after_load::*, connection_slot::*, context::*, control_call::*, driver::*, executor::*,
    machine_watch::*, mix::*, pacer::*, pacer_thread::*, recent_calls::*, reply_text::*,
    sampled_reply::*, sampler::*, schedule::*, starts::*, stop::*, strict::*, token::*, worker::*,
    workload::*,
};

pub use context::{Connection, PhaseFact, RunContext, SharedRun};
pub use definition::{LoadSettings, Scenario};
pub use executor::LoadPlan;
pub use mix::PreparedCall;
pub use scenario::{ScenarioKind, ScenarioType};
pub use schedule::Schedule;
pub use stop::{Stop, StopLevel};
pub use workload::{ErrorBehavior, Pattern, Step, ToolCall};

use crate::prelude::*;

/// Starts a thread of ours.
pub(crate) fn spawn_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> RunResult<std::thread::JoinHandle<T>> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map_err(RunError::of_thread)
}

/// A runtime for the thread that it is made on.
pub(crate) fn thread_runtime() -> RunResult<tokio::runtime::Runtime> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().map_err(RunError::of_thread)
}

#[cfg(test)]
mod tests;
