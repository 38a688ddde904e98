//! What a run does to a server: the scenarios and their knobs, as the library's callers write them
//! and as `metrics.json` shows them. How each is carried out is in `scenario/`.

use std::time::Duration;

use mcprove_settings::quantity::seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::workload::Pattern;

/// A scenario and its knobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum ScenarioKind {
    /// A fresh process for each iteration: start, greet, first call, second call.
    ColdStart {
        /// How often.
        iterations: u32,
        /// Whether the first iteration is thrown away, for it warms the system's caches.
        warmup: bool,
    },
    /// Constant load for a fixed time.
    Sustained {
        /// Calls in flight.
        concurrent: u32,
        /// How long.
        #[serde(rename = "duration_secs", with = "seconds")]
        #[schemars(with = "f64")]
        duration: Duration,
        /// The most calls per second; none is as fast as the server answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_limit: Option<u32>,
    },
    /// A steady load with a sharp burst in it.
    Spike {
        /// Calls in flight outside the burst.
        baseline_concurrent: u32,
        /// Calls in flight in the burst.
        spike_concurrent: u32,
        /// How long the whole run takes.
        #[serde(rename = "baseline_duration_secs", with = "seconds")]
        #[schemars(with = "f64")]
        baseline_duration: Duration,
        /// When the burst begins.
        #[serde(rename = "spike_at_secs", with = "seconds")]
        #[schemars(with = "f64")]
        spike_at: Duration,
        /// How long the burst takes.
        #[serde(rename = "spike_duration_secs", with = "seconds")]
        #[schemars(with = "f64")]
        spike_duration: Duration,
    },
    /// More and more calls in flight, step by step.
    Ramp {
        /// Calls in flight in the first step.
        from_concurrent: u32,
        /// Calls in flight in the last step.
        to_concurrent: u32,
        /// How many more each step has.
        step_increment: u32,
        /// How long all steps take together.
        #[serde(rename = "duration_secs", with = "seconds")]
        #[schemars(with = "f64")]
        duration: Duration,
    },
    /// A long steady load, with memory and latency watched for growth.
    Soak {
        /// Calls in flight.
        concurrent: u32,
        /// How long.
        #[serde(rename = "duration_secs", with = "seconds")]
        #[schemars(with = "f64")]
        duration: Duration,
        /// How often the server's processes are looked at.
        #[serde(rename = "sample_interval_secs", with = "seconds")]
        #[schemars(with = "f64")]
        sample_interval: Duration,
        /// How fast the mean latency may grow.
        latency_drift_ms_per_sec: f64,
    },
    /// Sequences of calls, chosen at random by weight, with pauses for thought.
    Pattern {
        /// Sequences under way at the same time.
        concurrent: u32,
        /// How long.
        #[serde(rename = "duration_secs", with = "seconds")]
        #[schemars(with = "f64")]
        duration: Duration,
        /// The sequences.
        patterns: Vec<Pattern>,
    },
    /// Many first calls at the same instant on a fresh server.
    DeadlockProbe {
        /// Calls released together.
        concurrent: u32,
        /// When a call counts as hung.
        #[serde(rename = "hang_threshold_secs", with = "seconds")]
        #[schemars(with = "f64")]
        hang_threshold: Duration,
        /// How long a hung call may still answer late.
        #[serde(rename = "grace_period_secs", with = "seconds")]
        #[schemars(with = "f64")]
        grace_period: Duration,
        /// How long `tools/list` may take.
        #[serde(rename = "list_timeout_secs", with = "seconds")]
        #[schemars(with = "f64")]
        list_timeout: Duration,
    },
    /// The same call alone, then many times at once: are the answers the same?
    RaceCheck {
        /// Calls at once.
        concurrent: u32,
        /// How many rounds of them.
        rounds: u32,
    },
    /// Malformed messages, and whether the server survives each.
    Fuzzer {
        /// How often the list of payloads is gone through.
        iterations: u32,
        /// The payloads by name; none means all.
        payloads: Vec<String>,
        /// How long each answer may take.
        #[serde(rename = "answer_timeout_secs", with = "seconds")]
        #[schemars(with = "f64")]
        answer_timeout: Duration,
    },
    /// A fast and a slow tool mixed: does the slow one hold up the fast one?
    SlowMix {
        /// Calls in flight.
        concurrent: u32,
        /// How long.
        #[serde(rename = "duration_secs", with = "seconds")]
        #[schemars(with = "f64")]
        duration: Duration,
        /// The share of calls that go to the slow tool.
        slow_share: f64,
    },
    /// The connection is dropped in the middle of calls, and a new one made, again and again.
    Reconnect {
        /// How often.
        iterations: u32,
        /// Calls in flight when the connection is dropped.
        concurrent: u32,
    },
    /// Sessions opened and abandoned without a goodbye.
    Churn {
        /// How many sessions.
        sessions: u32,
        /// How many are open at the same time.
        concurrent: u32,
    },
    /// Calls before the list of tools is complete, and before initialization.
    EarlyCall {
        /// How often, each on a fresh session.
        iterations: u32,
    },
    /// Calls cancelled half-way, and notifications in the middle of calls.
    InterruptedCall {
        /// How often.
        iterations: u32,
    },
}

impl ScenarioKind {
    /// The name in files and on the command line.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ColdStart { .. } => "cold_start",
            Self::Sustained { .. } => "sustained",
            Self::Spike { .. } => "spike",
            Self::Ramp { .. } => "ramp",
            Self::Soak { .. } => "soak",
            Self::Pattern { .. } => "pattern",
            Self::DeadlockProbe { .. } => "deadlock_probe",
            Self::RaceCheck { .. } => "race_check",
            Self::Fuzzer { .. } => "fuzzer",
            Self::SlowMix { .. } => "slow_mix",
            Self::Reconnect { .. } => "reconnect",
            Self::Churn { .. } => "churn",
            Self::EarlyCall { .. } => "early_call",
            Self::InterruptedCall { .. } => "interrupted_call",
        }
    }

    /// How many calls or sessions are under way at the same time, at most.
    pub const fn concurrent(&self) -> u32 {
        match self {
            Self::Sustained { concurrent, .. }
            | Self::Soak { concurrent, .. }
            | Self::Pattern { concurrent, .. }
            | Self::DeadlockProbe { concurrent, .. }
            | Self::RaceCheck { concurrent, .. }
            | Self::SlowMix { concurrent, .. }
            | Self::Reconnect { concurrent, .. }
            | Self::Churn { concurrent, .. } => *concurrent,
            Self::Spike {
                spike_concurrent, ..
            } => *spike_concurrent,
            Self::Ramp { to_concurrent, .. } => *to_concurrent,
            Self::ColdStart { .. }
            | Self::Fuzzer { .. }
            | Self::EarlyCall { .. }
            | Self::InterruptedCall { .. } => 1,
        }
    }

    /// How long the load lasts, where that is set.
    pub const fn duration(&self) -> Option<Duration> {
        match self {
            Self::Sustained { duration, .. }
            | Self::Ramp { duration, .. }
            | Self::Soak { duration, .. }
            | Self::Pattern { duration, .. }
            | Self::SlowMix { duration, .. } => Some(*duration),
            Self::Spike {
                baseline_duration, ..
            } => Some(*baseline_duration),
            _ => None,
        }
    }
}
