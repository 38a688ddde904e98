//! Load: what is done to a server (`definition`, `workload`), how it is carried out
//! (`executor`, `worker`, `seat`, `pacer`), and one file per scenario (`scenario`).
//!
//! A scenario only emits events; [`run`](crate::run) sets the stage and makes a report of them.

pub(crate) mod calibration;
mod count;
mod definition;
mod driver;
pub(crate) mod error;
pub(crate) mod executor;
mod job;
pub(crate) mod mix;
mod pacer;
mod pacer_thread;
pub(crate) mod sampler;
pub mod scenario;
pub(crate) mod schedule;
mod seat;
pub(crate) mod stage;
pub(crate) mod stop;
mod strict;
pub(crate) mod token;
mod worker;
mod workload;

pub use definition::{LoadSettings, Scenario};
pub use scenario::ScenarioKind;
pub use stop::{Stop, StopLevel};
pub use workload::{ErrorBehavior, Pattern, Step, ToolCall};
