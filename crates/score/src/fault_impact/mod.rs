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

mod judge;
mod recovery;
#[cfg(test)]
mod tests;
mod verdict;

use mcprove_trace::sparse::TimeBucket;

use crate::prelude::*;

/// What the files here share.
mod prelude {
    pub use super::judge::*;
    pub use super::*;
}

pub use judge::{judge, judge_all};
pub use verdict::verdicts;

/// From when until when, in seconds.
type Span = (f64, f64);

// What a fault did, in numbers.

/// The calls that a fault struck.
#[sparse(marked)]
#[data(Default)]
pub struct FaultedCalls {
    /// How many it struck, those included that had no end.
    pub calls: u64,
    /// How many ended because of it, or in spite of it: the others are open, or count against the server.
    #[serde(default)]
    pub ended: u64,
    /// How many of these failed.
    pub failed: u64,
    /// The share of these that failed.
    pub error_rate: Option<f64>,
    /// p99 of the successful ones, in milliseconds; null with fewer than ten calls beyond it.
    pub p99_ms: Option<f64>,
    /// Calls that passed the hang threshold.
    pub hung: u64,
    /// Why they failed.
    #[sparse]
    pub errors: BTreeMap<ErrorCategory, u64>,
    /// How many were calls of each tool.
    #[sparse]
    pub tools: BTreeMap<String, u64>,
    /// Calls that failed in a way that a fault of this kind cannot cause: they count against the server.
    #[serde(default)]
    pub servers_own: u64,
    /// Connections that the fault ended.
    pub connections_ended: u64,
    /// Calls that it did not strike and that were lost with these connections.
    pub calls_lost: u64,
}

/// Calls that met no fault, of one tool or of all, in one of the three times.
#[data(Copy, Default)]
pub struct ImpactPhase {
    /// How long it was, in seconds.
    pub duration_secs: f64,
    /// Calls that ended.
    pub calls: u64,
    /// Calls that failed, those that were lost with a connection included.
    pub failed: u64,
    /// The share that failed.
    pub error_rate: Option<f64>,
    /// The median of the successful ones, in milliseconds; null with fewer than ten calls beyond it.
    pub p50_ms: Option<f64>,
    /// p95; null with fewer than ten calls beyond it.
    pub p95_ms: Option<f64>,
    /// p99; null with fewer than ten calls beyond it.
    pub p99_ms: Option<f64>,
}

/// One tool around a fault.
#[data]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each answers a question of its own in the report"
)]
pub struct ToolImpact {
    /// Its name.
    pub tool: String,
    /// Whether the fault is aimed at it.
    pub is_aimed_at: bool,
    /// Before the fault.
    pub before: ImpactPhase,
    /// During it.
    pub during: ImpactPhase,
    /// After it.
    pub after: ImpactPhase,
    /// During it, and after it until all was back.
    pub until_back: ImpactPhase,
    /// Whether there were enough calls of it to say whether it suffered.
    #[serde(default)]
    pub is_judged: bool,
    /// Whether clearly more of its calls failed until all was back.
    pub fails_more: bool,
    /// Whether clearly more of its calls were slow until all was back.
    pub is_slower: bool,
}

/// Whether the server was after a fault what it was before it.
#[choice(Copy, Eq, Hash)]
pub enum Recovery {
    /// It was back within the run.
    Back,
    /// It was not.
    NotBack,
    /// There was too little before or after to say.
    Unknown,
}

/// Why it cannot be said whether all was back.
#[choice(Copy, Eq, Hash)]
pub enum OpenReason {
    /// Too few calls before the fault to compare with.
    FewBefore,
    /// Too little time after it.
    ShortAfter,
    /// The calls that it struck were held until it was too late to see.
    HeldTooLong,
    /// Another fault was on before all could be seen to be back.
    OtherFault,
    /// The load changed while it was on, so that before and after are not alike.
    LoadChanged,
    /// Some tools were called too seldom after it.
    RareTools,
    /// The stretches of the run are too long for the limit.
    CoarseStretches,
}

/// What a fault did.
#[sparse(marked)]
#[data]
pub struct FaultImpact {
    /// The name of the fault.
    pub fault: String,
    /// Its kind.
    pub kind: String,
    /// The tool that it is aimed at; null for all.
    pub tool: Option<String>,
    /// When it began, in seconds since the start of the run.
    pub from_secs: Option<f64>,
    /// When it ended.
    pub until_secs: Option<f64>,
    /// When the last call that it struck was let go, where that was later than its end: all that comes
    /// before is not held against the server, and the time to be back counts from here.
    #[sparse]
    pub released_secs: Option<f64>,
    /// The calls that it struck.
    pub struck: FaultedCalls,
    /// Calls that met no fault, before it.
    pub before: ImpactPhase,
    /// During it.
    pub during: ImpactPhase,
    /// After it.
    pub after: ImpactPhase,
    /// Whether p99 and errors were back.
    pub recovery: Recovery,
    /// The time from the end of the fault, and from the release of the last call that it struck, until
    /// they were, in seconds; null if they were not.
    pub recovery_secs: Option<f64>,
    /// Why that is not known.
    #[sparse]
    pub open: Option<OpenReason>,
    /// Tools that were not back, or of which that is not known.
    #[sparse]
    pub not_back: Vec<String>,
    /// The limit for that.
    #[sparse]
    pub max_recovery_secs: Option<f64>,
    /// Whether other tools may suffer.
    #[sparse]
    pub others_may_suffer: Option<bool>,
    /// Tools that it was not aimed at and that suffered.
    pub suffered: Vec<String>,
    /// Tool by tool.
    pub tools: Vec<ToolImpact>,
}

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
    pub struck: FaultedCalls,
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
    pub stretches: BTreeMap<u64, BTreeMap<String, TimeBucket>>,
    /// From when until when calls were made, in seconds.
    pub span: (f64, f64),
    /// When the load changed: clients, rate or tools.
    pub load_changes: Vec<f64>,
}
