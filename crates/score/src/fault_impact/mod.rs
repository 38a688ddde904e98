//! What an injected fault did to the calls that it did not strike: before, during and after it.
//!
//! Calls are taken by the stretch of time in which they ended. A stretch is **disturbed** when, by more
//! than chance (95 %) and by more than 2 points, more of its calls than before the fault
//!
//! - failed, or
//! - took longer than 1.5 times what they took before, plus 10 ms: tool by tool, measured by the highest
//!   of p99, p95 and p50 that had ten calls beyond it;
//!
//! or when no call ended in it though five were to be expected. The server is **back** at the end of the
//! fault, or at the first stretch after it from which on one second has no disturbed stretch. A tool
//! that the fault was not aimed at **suffered** when its calls during the fault, and after it until all
//! was back, were worse by the same rule.
//!
//! Struck calls are counted apart, for what becomes of them is the fault's doing and not the server's.

#[cfg(test)]
mod tests;
mod timeline;
mod verdict;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::timeline::{fails_more, is_slower, phase_of};
use crate::number::float;
use crate::sparse::SparseHistogram;
use crate::trace::ErrorCategory;

pub use verdict::{RECOVERY_GATE, verdict};

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
/// Calls that must be expected in a stretch before none at all means something.
pub const EXPECTED_MIN: f64 = 5.0;

/// The calls of one tool that ended in one stretch of time and that no fault struck.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stretch {
    /// How long the successful ones took, in nanoseconds.
    pub latency_ns: SparseHistogram,
    /// Calls that failed.
    pub failed: u64,
    /// Calls that were lost with a connection that a fault ended.
    pub lost: u64,
}

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
}

/// The calls that a fault struck.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StruckCalls {
    /// How many ended.
    pub calls: u64,
    /// How many of these failed.
    pub failed: u64,
    /// The share that failed.
    pub error_rate: Option<f64>,
    /// p99 of the successful ones, in milliseconds; null with fewer than ten calls beyond it.
    pub p99_ms: Option<f64>,
    /// Calls that passed the hang threshold.
    pub hung: u64,
    /// Why they failed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<ErrorCategory, u64>,
    /// How many were calls of each tool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, u64>,
    /// Connections that the fault ended.
    pub connections_ended: u64,
    /// Calls that it did not strike and that were lost with these connections.
    pub calls_lost: u64,
}

/// Calls that met no fault, of one tool or of all, in one of the three times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Whether clearly more of its calls failed until all was back.
    pub fails_more: bool,
    /// Whether clearly more of its calls were slow until all was back.
    pub is_slower: bool,
}

/// Whether the server was after a fault what it was before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// It was back within the run.
    Back,
    /// It was not.
    NotBack,
    /// There was too little before or after to say.
    Unknown,
}

/// What a fault did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The calls that it struck.
    pub struck: StruckCalls,
    /// Calls that met no fault, before it.
    pub before: ImpactPhase,
    /// During it.
    pub during: ImpactPhase,
    /// After it.
    pub after: ImpactPhase,
    /// Whether p99 and errors were back.
    pub recovery: Recovery,
    /// The time from the end of the fault until they were, in seconds; null if they were not.
    pub recovery_secs: Option<f64>,
    /// The limit for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_recovery_secs: Option<f64>,
    /// Whether other tools may suffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_may_suffer: Option<bool>,
    /// Tools that it was not aimed at and that suffered.
    pub suffered: Vec<String>,
    /// Tool by tool.
    pub tools: Vec<ToolImpact>,
}

/// Compares the times before, during and after a fault.
pub fn judge(facts: &FaultFacts, timeline: &Timeline) -> FaultImpact {
    let phases = facts
        .window
        .map(|window| timeline.split(window))
        .unwrap_or_default();
    let width = timeline.width_secs;
    let names: Vec<&String> = {
        let mut names: Vec<&String> = phases.tools.iter().flat_map(BTreeMap::keys).collect();
        names.sort();
        names.dedup();
        names
    };
    let [before, during, after] = [0, 1, 2].map(|index| phases.total(index));
    let number = |index: usize, stretch: &Stretch| {
        let stretches = phases.stretches.get(index).copied().unwrap_or_default();
        phase_of(stretch, float(stretches) * width)
    };
    let (recovery, recovery_secs) = match facts.window {
        Some(window) => timeline.recovery(&phases, window),
        None => (Recovery::Unknown, None),
    };
    // A crash takes but a moment, and what it does lasts until all is back.
    let hurt = facts.window.map(|(from, until)| {
        let back = match recovery {
            Recovery::NotBack => timeline.span.1,
            _ => until + recovery_secs.unwrap_or_default(),
        };
        timeline.split((from, back))
    });
    let hurt = hurt.unwrap_or_default();
    let hurt_secs = float(hurt.stretches.get(1).copied().unwrap_or_default()) * width;
    let empty = Stretch::default();
    let tools: Vec<ToolImpact> = names
        .into_iter()
        .map(|name| {
            let [before, during, after] = phases
                .tools
                .each_ref()
                .map(|tools| tools.get(name).unwrap_or(&empty));
            let until_back = hurt.tools.get(1).and_then(|tools| tools.get(name));
            let until_back = until_back.unwrap_or(&empty);
            ToolImpact {
                tool: name.clone(),
                is_aimed_at: facts.tool.as_ref().is_none_or(|tool| tool == name),
                before: number(0, before),
                during: number(1, during),
                after: number(2, after),
                until_back: phase_of(until_back, hurt_secs),
                fails_more: fails_more(before, until_back, CALLS_HIT_MIN),
                is_slower: is_slower(before, until_back),
            }
        })
        .collect();
    let suffered = tools
        .iter()
        .filter(|tool| !tool.is_aimed_at && (tool.fails_more || tool.is_slower))
        .map(|tool| tool.tool.clone())
        .collect();
    FaultImpact {
        fault: facts.name.clone(),
        kind: facts.kind.clone(),
        tool: facts.tool.clone(),
        from_secs: facts.window.map(|(from, _)| from),
        until_secs: facts.window.map(|(_, until)| until),
        struck: facts.struck.clone(),
        before: number(0, &before),
        during: number(1, &during),
        after: number(2, &after),
        recovery,
        recovery_secs,
        max_recovery_secs: facts.max_recovery_secs,
        others_may_suffer: facts.others_may_suffer,
        suffered,
        tools,
    }
}
