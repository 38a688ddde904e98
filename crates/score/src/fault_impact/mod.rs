//! What an injected fault did to the calls that it did not strike: before, during and after it.
//!
//! Calls are taken by the stretch of time in which they ended. Each tool, and all of them together, are
//! looked at over a second, or longer where ten calls are to be expected in a longer time only. Such a
//! while is **disturbed** when, by more than chance (95 %) and by more than 2 points, more of its calls
//! than before the fault
//!
//! - failed, or
//! - took longer than 1.5 times what they took before, plus 10 ms: tool by tool, measured by the highest
//!   of p99, p95 and p50 that had ten calls beyond it;
//!
//! or when no call ended in it. The server is **back** where, for each tool with 20 calls before the fault
//! and for all, a while begins that is not disturbed. A tool that the fault was not aimed at **suffered**
//! when its calls during the fault, and after it until all was back, were worse by the same rule.
//!
//! Struck calls are counted apart, for what becomes of them is the fault's doing and not the server's.
//! They keep clients and places busy, so that the fault counts as on until the last of them is let go.
//! Stretches in which another fault was on, or the load was another, are left out.

mod impact;
mod judge;
mod recovery;
#[cfg(test)]
mod tests;
mod timeline;
mod verdict;

use std::collections::BTreeMap;

use mcprove_trace::sparse::Stretch;

/// From when until when, in seconds.
type Span = (f64, f64);

pub use impact::{FaultImpact, ImpactPhase, OpenReason, Recovery, StruckCalls, ToolImpact};
pub use judge::{judge, judge_all};
pub use verdict::{RECOVERY_GATE, SPREAD_GATE, verdicts};

/// How many times what calls took before counts as slow.
pub const LATENCY_FACTOR: f64 = 1.5;
/// How much longer it must be as well, in milliseconds: a busy machine can do that by itself.
pub const LATENCY_SLACK_MS: f64 = 10.0;
/// By how much the share of slow or failed calls must be higher, at the low end of its interval.
pub const SHARE_RISE_MAX: f64 = 0.02;
/// Slow or failed calls of a tool below which it did not suffer.
pub const CALLS_HIT_MIN: u64 = 3;
/// Calls before the fault below which there is nothing to compare with.
pub const CALLS_BEFORE_MIN: u64 = 20;
/// How long all must be as before to count as back, in seconds.
pub const STEADY_SECS: f64 = 1.0;
/// How long a server has to come back before it counts as one that does not, in seconds.
pub const AFTER_SECS_MIN: f64 = 3.0;
/// Calls that must be expected in a while before none at all means something.
pub const EXPECTED_CALLS: f64 = 10.0;
/// How many stretches a limit of recovery must have at least, to be measured.
pub const STRETCHES_PER_LIMIT: f64 = 4.0;

/// What is known of one fault.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FaultFacts {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// The tool that it is aimed at; all without one.
    pub tool: Option<String>,
    /// From when until when it was on, in seconds since the start of the run; none if it never was.
    pub window: Option<(f64, f64)>,
    /// When the last call that it struck was let go.
    pub released_secs: Option<f64>,
    /// The calls that it struck.
    pub struck: StruckCalls,
    /// Within how many seconds the server must be back.
    pub max_recovery_secs: Option<f64>,
    /// Whether other tools may suffer; without a word it is a warning if they do.
    pub others_may_suffer: Option<bool>,
}

/// Everything that calls without a fault did, by time and tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    /// How long a stretch is, in seconds.
    pub width_secs: f64,
    /// By number of the stretch since the start of the run, and tool.
    pub stretches: BTreeMap<u64, BTreeMap<String, Stretch>>,
    /// From when until when calls were made, in seconds.
    pub span: (f64, f64),
    /// When the load changed: clients, rate or tools.
    pub load_changes: Vec<f64>,
}
