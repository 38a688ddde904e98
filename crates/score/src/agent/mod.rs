//! What an agent's runs amount to: one metric per file, each a pure function from a trace to a
//! report, with its targets on one line of [`METRICS`].

#![allow(
    clippy::unnecessary_wraps,
    reason = "every metric has the shape of `Metric`, also where it cannot fail"
)]

pub mod call_limits;
pub mod duplicate_writes;
pub mod golden_path;
pub mod loops;
mod metric;
pub mod narrative;
pub mod orchestration;
pub mod permissions;
pub mod recovery;
pub mod reliability;
pub mod stability;
mod tool_name;
pub mod trajectory;
pub mod trajectory_axes;

pub use metric::{Case, Expected, Gate, Metric, Scope, Target};

/// Every metric, in the order in which they are told.
pub const METRICS: &[Metric] = &[
    trajectory::METRIC,
    trajectory_axes::METRIC,
    golden_path::METRIC,
    stability::METRIC,
    reliability::METRIC,
    recovery::METRIC,
    narrative::METRIC,
    orchestration::METRIC,
    loops::METRIC,
    permissions::METRIC,
    call_limits::METRIC,
    duplicate_writes::METRIC,
];
