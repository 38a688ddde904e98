//! What a fault did, in numbers.

use crate::prelude::*;

/// The calls that a fault struck.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StruckCalls {
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
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<ErrorCategory, u64>,
    /// How many were calls of each tool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
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

/// Why it cannot be said whether all was back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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
    /// When the last call that it struck was let go, where that was later than its end: all that comes
    /// before is not held against the server, and the time to be back counts from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_secs: Option<f64>,
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
    /// The time from the end of the fault, and from the release of the last call that it struck, until
    /// they were, in seconds; null if they were not.
    pub recovery_secs: Option<f64>,
    /// Why that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenReason>,
    /// Tools that were not back, or of which that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_back: Vec<String>,
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
