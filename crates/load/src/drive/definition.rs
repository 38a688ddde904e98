//! A scenario as callers define it: what it does, what it calls, and how the load is made.

use std::time::Duration;

use mcprove_settings::quantity::seconds;
use mcprove_settings::secret::secrets_of_arguments;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::defaults;
use super::kind::ScenarioKind;
use super::workload::{Pattern, Step, ToolCall};

/// A scenario. Made by one of the constructors, refined in any order.
///
/// ```
/// use std::time::Duration;
/// use mcprove_load::drive::Scenario;
/// use serde_json::json;
///
/// let scenario = Scenario::sustained()
///     .concurrent(20)
///     .duration(Duration::from_secs(30))
///     .tool("get_market_data")
///     .args(json!({ "ticker": "AAPL" }));
/// assert_eq!(scenario.kind.name(), "sustained");
/// assert_eq!(scenario.tool_calls[0].name, "get_market_data");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// What is done.
    pub kind: ScenarioKind,
    /// What is called, chosen by weight; empty means every tool that [may be called](mcprove_client::permission).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// How the load is made.
    #[serde(default)]
    pub load: LoadSettings,
    /// Knobs that this kind does not have; reported when it is run.
    #[serde(skip)]
    pub(crate) problems: Vec<String>,
}

impl Scenario {
    /// Whether every tool that it calls is named.
    pub(crate) fn names_tools(&self) -> bool {
        match &self.kind {
            ScenarioKind::Pattern { patterns, .. } => {
                patterns.iter().all(|pattern| !pattern.steps.is_empty())
            }
            _ => !self.tool_calls.is_empty(),
        }
    }

    /// The secrets in the arguments of its calls.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let mut scenario = self.clone();
        let calls = scenario.calls_mut();
        calls
            .flat_map(|call| secrets_of_arguments(&call.args))
            .collect()
    }

    /// The calls of tools, also those that are steps of patterns.
    pub fn calls_mut(&mut self) -> impl Iterator<Item = &mut ToolCall> {
        let patterns = match &mut self.kind {
            ScenarioKind::Pattern { patterns, .. } => &mut patterns[..],
            _ => &mut [],
        };
        let steps = patterns.iter_mut().flat_map(|pattern| &mut pattern.steps);
        let of_steps = steps.filter_map(|step| match step {
            Step::Call(call) => Some(call),
            Step::ListTools => None,
        });
        self.tool_calls.iter_mut().chain(of_steps)
    }
}

/// How the load is made, whatever the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LoadSettings {
    /// Connections, over which the calls in flight are spread; each is a process over stdio.
    pub sessions: u32,
    /// Calls per second on a fixed schedule (open model); none waits for answers (closed model).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The most calls in flight in the open model; what cannot start is counted as dropped.
    pub max_in_flight: u32,
    /// Whether calls that the schedule missed are made up for in a burst, instead of dropped.
    pub catch_up: bool,
    /// The time before anything counts.
    #[serde(rename = "warmup_secs", with = "seconds")]
    #[schemars(with = "f64")]
    pub warmup: Duration,
    /// Ends after this many calls, if that comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Decides every random choice; drawn when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Whether arguments are checked against `inputSchema` and results against `outputSchema`.
    pub strict: bool,
    /// Whether tools that nobody named are called though they may write.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_writes: bool,
}

impl Default for LoadSettings {
    fn default() -> Self {
        Self {
            sessions: 1,
            rate: None,
            max_in_flight: defaults::MAX_IN_FLIGHT,
            catch_up: false,
            warmup: Duration::ZERO,
            calls: None,
            seed: None,
            strict: false,
            allow_writes: false,
        }
    }
}

impl From<ScenarioKind> for Scenario {
    fn from(kind: ScenarioKind) -> Self {
        Self {
            kind,
            tool_calls: Vec::new(),
            load: LoadSettings::default(),
            problems: Vec::new(),
        }
    }
}

/// One constructor per kind, with its defaults.
impl Scenario {
    /// A fresh process per iteration, first and second call measured apart.
    pub fn cold_start() -> Self {
        defaults::cold_start().into()
    }

    /// Constant load for a fixed time.
    pub fn sustained() -> Self {
        defaults::sustained().into()
    }

    /// A steady load with a burst in it.
    pub fn spike() -> Self {
        defaults::spike().into()
    }

    /// More and more calls in flight.
    pub fn ramp() -> Self {
        defaults::ramp().into()
    }

    /// A long steady load, watched for leaks and drift.
    pub fn soak() -> Self {
        defaults::soak().into()
    }

    /// Sequences of calls with pauses.
    pub fn pattern(patterns: impl IntoIterator<Item = Pattern>) -> Self {
        defaults::pattern(patterns.into_iter().collect()).into()
    }

    /// Many first calls at the same instant.
    pub fn deadlock_probe() -> Self {
        defaults::deadlock_probe().into()
    }

    /// The same call alone and at once.
    pub fn race_check() -> Self {
        defaults::race_check().into()
    }

    /// Malformed messages.
    pub fn fuzzer() -> Self {
        defaults::fuzzer().into()
    }

    /// A slow tool among a fast one.
    pub fn slow_mix() -> Self {
        defaults::slow_mix().into()
    }

    /// Connections dropped in the middle of calls.
    pub fn reconnect() -> Self {
        defaults::reconnect().into()
    }

    /// Sessions opened and abandoned.
    pub fn churn() -> Self {
        defaults::churn().into()
    }

    /// Calls before the list of tools is complete.
    pub fn early_call() -> Self {
        defaults::early_call().into()
    }

    /// Calls cancelled half-way.
    pub fn interrupted_call() -> Self {
        defaults::interrupted_call().into()
    }
}

/// The knobs. One that the kind does not have makes the run fail with `RunError::Config`.
impl Scenario {
    /// Sets the calls in flight: of a spike its baseline, of a ramp its last step.
    #[must_use]
    pub fn concurrent(mut self, count: u32) -> Self {
        match &mut self.kind {
            ScenarioKind::Sustained { concurrent, .. }
            | ScenarioKind::Soak { concurrent, .. }
            | ScenarioKind::Pattern { concurrent, .. }
            | ScenarioKind::DeadlockProbe { concurrent, .. }
            | ScenarioKind::RaceCheck { concurrent, .. }
            | ScenarioKind::SlowMix { concurrent, .. }
            | ScenarioKind::Reconnect { concurrent, .. }
            | ScenarioKind::Churn { concurrent, .. }
            | ScenarioKind::Spike {
                baseline_concurrent: concurrent,
                ..
            }
            | ScenarioKind::Ramp {
                to_concurrent: concurrent,
                ..
            } => *concurrent = count,
            _ => self.reject("concurrent"),
        }
        self
    }

    /// Sets how long the load lasts. Of a spike, the burst keeps its place in proportion.
    #[must_use]
    pub fn duration(mut self, time: Duration) -> Self {
        match &mut self.kind {
            ScenarioKind::Sustained { duration, .. }
            | ScenarioKind::Ramp { duration, .. }
            | ScenarioKind::Pattern { duration, .. }
            | ScenarioKind::SlowMix { duration, .. } => *duration = time,
            ScenarioKind::Soak {
                duration,
                sample_interval,
                ..
            } => {
                *duration = time;
                *sample_interval = defaults::sample_interval(time);
            }
            ScenarioKind::Spike {
                baseline_duration,
                spike_at,
                spike_duration,
                ..
            } => {
                *baseline_duration = time;
                *spike_at = defaults::spike_at(time);
                *spike_duration = defaults::spike_duration(time);
            }
            _ => self.reject("duration"),
        }
        self
    }

    /// Sets how often: of `cold_start`, `fuzzer`, `reconnect`, `early_call`, `interrupted_call`.
    #[must_use]
    pub fn iterations(mut self, count: u32) -> Self {
        match &mut self.kind {
            ScenarioKind::ColdStart { iterations, .. }
            | ScenarioKind::Fuzzer { iterations, .. }
            | ScenarioKind::Reconnect { iterations, .. }
            | ScenarioKind::EarlyCall { iterations }
            | ScenarioKind::InterruptedCall { iterations } => *iterations = count,
            ScenarioKind::RaceCheck { rounds, .. } => *rounds = count,
            _ => self.reject("iterations"),
        }
        self
    }

    /// Sets when a call counts as hung and how long it may still answer, in `deadlock_probe`.
    #[must_use]
    pub fn hang_limits(mut self, threshold: Duration, grace: Duration) -> Self {
        match &mut self.kind {
            ScenarioKind::DeadlockProbe {
                hang_threshold,
                grace_period,
                ..
            } => {
                *hang_threshold = threshold;
                *grace_period = grace;
            }
            _ => self.reject("hang_limits (thresholds have hang_timeout)"),
        }
        self
    }

    /// Adds a tool to call, with arguments made from its schema unless [`args`](Self::args) follow.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        match self.tool_calls.last_mut() {
            Some(call) if call.name.is_empty() => call.name = name.into(),
            _ => self.tool_calls.push(ToolCall::new(name)),
        }
        self
    }

    /// Sets the arguments of the tool added last, or of the next one.
    #[must_use]
    pub fn args(mut self, args: Value) -> Self {
        match self.tool_calls.last_mut() {
            Some(call) if call.args.is_null() => call.args = args,
            _ => self.tool_calls.push(ToolCall::new("").args(args)),
        }
        self
    }

    /// Adds a call with its weight.
    #[must_use]
    pub fn call(mut self, call: ToolCall) -> Self {
        self.tool_calls.push(call);
        self
    }

    /// Sets how many connections the load is spread over.
    #[must_use]
    pub fn sessions(mut self, sessions: u32) -> Self {
        self.load.sessions = sessions;
        self
    }

    /// Makes calls on a fixed schedule: the open model.
    #[must_use]
    pub fn rate(mut self, calls_per_second: f64) -> Self {
        self.load.rate = Some(calls_per_second);
        self
    }

    /// Sets the seed of every random choice.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.load.seed = Some(seed);
        self
    }

    /// Ends after this many calls.
    #[must_use]
    pub fn calls(mut self, calls: u64) -> Self {
        self.load.calls = Some(calls);
        self
    }

    /// Sets the time before anything counts.
    #[must_use]
    pub fn warmup(mut self, warmup: Duration) -> Self {
        self.load.warmup = warmup;
        self
    }

    /// Checks arguments and results against the schemas of the tools.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.load.strict = strict;
        self
    }

    /// Calls every tool where none is named, also those that may write.
    #[must_use]
    pub fn allow_writes(mut self, allow_writes: bool) -> Self {
        self.load.allow_writes = allow_writes;
        self
    }

    fn reject(&mut self, knob: &str) {
        self.problems
            .push(format!("{} has no knob {knob}", self.kind.name()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_may_come_before_their_tool() {
        let one = Scenario::sustained().tool("a").args(json!({ "x": 1 }));
        let other = Scenario::sustained().args(json!({ "x": 1 })).tool("a");
        assert_eq!(one, other);
        let two = one.tool("b");
        assert_eq!(two.tool_calls.len(), 2);
        assert!(two.tool_calls[1].args.is_null());
    }

    #[test]
    fn a_knob_that_the_kind_lacks_is_noted() {
        let scenario = Scenario::cold_start().concurrent(3);
        assert_eq!(scenario.problems, ["cold_start has no knob concurrent"]);
        assert!(Scenario::sustained().concurrent(3).problems.is_empty());
    }

    #[test]
    fn every_kind_round_trips() {
        let json = serde_json::to_value(Scenario::spike()).unwrap();
        assert_eq!(json["kind"]["kind"], "Spike");
        let back: Scenario = serde_json::from_value(json).unwrap();
        assert_eq!(back, Scenario::spike());
    }
}
