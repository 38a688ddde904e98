//! What a run means: the vocabulary of traces, and pure metrics, detectors and gates over them.
//!
//! This crate has no clock, no I/O, no async and no randomness: the same records give the same
//! numbers, every time and everywhere. The engine (`mcprove`) produces the records.
//!
//! | group | modules |
//! |---|---|
//! | vocabulary | [`trace`]: what happened; [`registry`]: things chosen by name; [`verdict`]: what a detector concluded |
//! | statistics | [`percentile`]: enough samples?; [`regression`]: a line and how sure it is; [`sparse`]: small histograms; [`compare`]: are these runs worse? |
//! | stuck or lost | [`hang`]: late or never; [`deadlock`]: calls at once; [`isolation`]: replies to the right caller; [`head_of_line`]: fast calls behind slow ones |
//! | growing or slowing | [`growth`]: does it still grow?; [`leak`]: memory; [`resource_leak`]: descriptors, threads, processes; [`drift`]: latency over time; [`throughput_drift`]: calls per second over time; [`sessions`]: what sessions leave behind; [`cold_start`]: the first call |
//! | wrong or broken | [`race`]: different replies at once; [`fuzz`]: bad input; [`violations`]: what the protocol does not allow; [`breaking_point`]: too many clients; [`spike_recovery`]: after a burst; [`fault_impact`]: around an injected fault |
//! | agents | [`agent`]: what an agent's runs amount to, one metric each; [`gate`]: what they are held to; [`eval`]: the same functions under the names that embedders know |
//! | the whole run | [`coverage`]: tools exercised; [`threshold`]: limits kept; [`generator`]: were we the limit?; [`machine`]: was it others?; [`grade`]: letters; [`interpret`]: what it means, in words |

#[cfg_attr(not(feature = "eval"), expect(unused_imports))]
mod prelude;
pub mod verdict;

pub mod compare;
pub mod percentile;
pub mod regression;

pub mod deadlock;
pub mod head_of_line;
pub mod isolation;

pub mod cold_start;
pub mod drift;
pub mod growth;
pub mod leak;
pub mod resource_leak;
pub mod sessions;
pub mod starts;
pub mod throughput_drift;

pub mod breaking_point;
pub mod fault_impact;
pub mod fuzz;
pub mod race;
pub mod spike_recovery;
pub mod violations;

#[cfg(feature = "eval")]
pub mod agent;
#[cfg(feature = "eval")]
mod english;
#[cfg(feature = "eval")]
pub mod eval;
#[cfg(feature = "eval")]
pub mod gate;

pub mod coverage;
pub mod generator;
pub mod grade;
pub mod interpret;
pub mod machine;
pub mod threshold;

#[cfg(feature = "eval")]
mod matching;
#[cfg(feature = "eval")]
pub mod report;
#[cfg(test)]
mod testing;
