//! What an agent's runs amount to: one metric per file, each a pure function from a trace to a
//! report, with its targets, its settings and its gates, and one line in [`METRICS`].

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
pub(crate) mod tool_name;
pub mod trajectory;
pub mod trajectory_axes;

use crate::prelude::{Message, count, sentence, whole};

pub use metric::*;

/// Every metric, in the order in which they are reported.
pub const METRICS: &[&dyn AnyMetric] = &[
    &trajectory::Trajectory,
    &trajectory_axes::TrajectoryAxes,
    &golden_path::GoldenPath,
    &stability::Stability,
    &reliability::Reliability,
    &recovery::Recovery,
    &narrative::Narrative,
    &orchestration::Orchestration,
    &loops::Loops,
    &permissions::Permissions,
    &call_limits::CallLimits,
    &duplicate_writes::DuplicateWrites,
];

/// What every metric is called, in the same order.
pub fn metrics() -> impl Iterator<Item = &'static About> {
    METRICS.iter().map(|metric| metric.about())
}

/// The first of so many things in words, and how many more there are.
pub(crate) fn first_of(all: u64, told: impl Iterator<Item = Message>) -> Message {
    let mut told: Vec<Message> = told.collect();
    let more = all.saturating_sub(count(told.len()));
    if more > 0 {
        told.push(sentence!("and {} more", whole(more)));
    }
    Message::join(told, "; ")
}

/// Every metric, and these besides.
pub(crate) fn with_own<'m>(own: &[&'m dyn AnyMetric]) -> Vec<&'m dyn AnyMetric> {
    METRICS.iter().chain(own).copied().collect()
}
