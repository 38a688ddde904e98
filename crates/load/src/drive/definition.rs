//! A scenario as callers define it: what it does, what it calls, and how the load is made.

use mcprove_settings::secret::secrets_of_arguments;

use super::scenario::{CustomScenario, Patterns};
use crate::prelude::*;

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
#[sparse]
#[stored]
#[must_use]
pub struct Scenario {
    /// What is done.
    pub kind: ScenarioKind,
    /// What is called, chosen by weight; empty means every tool that [may be called](mcprove_client::permission).
    #[sparse]
    pub tool_calls: Vec<ToolCall>,
    /// How the load is made.
    #[serde(default)]
    pub load: LoadSettings,
    /// Settings that this kind does not have; reported when it is run.
    #[serde(skip)]
    pub problems: Vec<Diagnostic>,
}

impl Scenario {
    /// Whether every tool that it calls is named.
    pub fn names_tools(&self) -> bool {
        let has_patterns = !self.kind.as_type().patterns().is_empty();
        self.has_own_steps() || !has_patterns && !self.tool_calls.is_empty()
    }

    /// Whether it has patterns, and each has steps of its own.
    pub fn has_own_steps(&self) -> bool {
        let patterns = self.kind.as_type().patterns();
        !patterns.is_empty() && patterns.iter().all(|pattern| !pattern.steps.is_empty())
    }

    /// The secrets in the arguments of its calls.
    pub fn secrets(&self) -> Vec<String> {
        self.all_calls()
            .flat_map(|call| secrets_of_arguments(&call.args))
            .collect()
    }

    /// The calls of tools, also those that are steps of patterns.
    pub fn all_calls(&self) -> impl Iterator<Item = &ToolCall> {
        let of_steps = self
            .kind
            .as_type()
            .patterns()
            .iter()
            .flat_map(|pattern| &pattern.steps);
        self.tool_calls
            .iter()
            .chain(of_steps.filter_map(Step::call))
    }

    /// The same, to be changed.
    pub fn calls_mut(&mut self) -> impl Iterator<Item = &mut ToolCall> {
        let of_steps = self
            .kind
            .as_type_mut()
            .patterns_mut()
            .iter_mut()
            .flat_map(|pattern| &mut pattern.steps)
            .filter_map(|step| match step {
                Step::Call(call) => Some(call),
                Step::ListTools => None,
            });
        self.tool_calls.iter_mut().chain(of_steps)
    }
}

/// How the load is made, whatever the scenario.
#[sparse]
#[in_seconds]
#[data(Settings)]
#[serde(default)]
pub struct LoadSettings {
    /// Connections, over which the calls in flight are spread; each is a process over stdio.
    #[setting(default = 1)]
    pub sessions: u32,
    /// Calls per second on a fixed schedule, whatever the server does: the open model. Without it the load waits
    /// for answers (closed model). Of a spike and a ramp the rate at the beginning, which then grows as the calls
    /// in flight would.
    #[setting(kind = RATE, short = 'r', otherwise = "none")]
    pub rate: Option<f64>,
    /// The most calls in flight in the open model; what cannot start is counted as dropped.
    #[setting(default = 1000)]
    pub max_in_flight: u32,
    /// Make up for missed calls of the open model in a burst, instead of dropping them.
    #[setting(default = false)]
    pub catch_up: bool,
    /// The time before anything counts.
    #[setting(kind = TIME_OR_ZERO, default = "0")]
    pub warmup: Duration,
    /// End after this many calls, if that comes first.
    #[setting(otherwise = "none")]
    pub calls: Option<u64>,
    /// Decides every random choice.
    #[setting(kind = Kind::Seed, otherwise = "drawn, and printed")]
    pub seed: Option<u64>,
    /// Check arguments against inputSchema, and results against the protocol and outputSchema.
    #[setting(default = false)]
    pub strict: bool,
    /// Call also tools that may write, where none is named.
    #[setting(default = false)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_writes: bool,
}

impl LoadSettings {
    /// Whether a setting is for every scenario, and not for loads only.
    pub fn is_for_all(setting: &Setting) -> bool {
        ["seed", "strict", "allow_writes"].contains(&setting.name)
    }

    /// Whether a setting has an effect with these.
    pub fn is_used(&self, setting: &Setting) -> bool {
        self.rate.is_some() || !["max_in_flight", "catch_up"].contains(&setting.name)
    }
}

impl Default for LoadSettings {
    fn default() -> Self {
        Self::initial()
    }
}

impl<Kind: Into<ScenarioKind>> From<Kind> for Scenario {
    fn from(kind: Kind) -> Self {
        Self {
            kind: kind.into(),
            tool_calls: Vec::new(),
            load: LoadSettings::default(),
            problems: Vec::new(),
        }
    }
}

impl Scenario {
    /// Sequences of calls with pauses.
    pub fn pattern(patterns: impl IntoIterator<Item = Pattern>) -> Self {
        Patterns::new(patterns.into_iter().collect()).into()
    }

    /// A scenario of your own, with its name in files.
    pub fn custom(name: impl Into<String>, scenario: impl ScenarioType + 'static) -> Self {
        CustomScenario::new(name.into(), Box::new(scenario)).into()
    }
}

/// The settings. One that the kind does not have makes the run fail with `RunError::Config`.
impl Scenario {
    /// Sets the calls in flight: of a spike its baseline, of a ramp its last step.
    pub fn concurrent(self, count: u32) -> Self {
        self.set("concurrent", Data::Integer(count.into()))
    }

    /// Sets how long the load lasts. Of a spike, the burst keeps its place in proportion.
    pub fn duration(self, time: Duration) -> Self {
        self.set("duration", Data::Text(write_duration(time)))
    }

    /// Sets how often: of `cold_start`, `fuzzer`, `race_check`, `reconnect`, `early_call`, `interrupted_call`.
    pub fn iterations(self, count: u32) -> Self {
        self.set("iterations", Data::Integer(count.into()))
    }

    /// Sets when a call counts as hung and how long it may still answer, in `deadlock_probe`; thresholds have
    /// `hang_timeout` for all scenarios.
    pub fn hang_limits(self, threshold: Duration, grace: Duration) -> Self {
        self.set("hang_threshold", Data::Text(write_duration(threshold)))
            .set("grace_period", Data::Text(write_duration(grace)))
    }

    fn set(mut self, name: &'static str, data: Data) -> Self {
        if let Err(problem) = self.kind.set(name, data) {
            self.problems.push(problem);
        }
        self
    }

    /// Adds a tool to call, with arguments made from its schema unless [`args`](Self::args) follow.
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        match self.tool_calls.last_mut() {
            Some(call) if call.name.is_empty() => call.name = name.into(),
            _ => self.tool_calls.push(ToolCall::new(name)),
        }
        self
    }

    /// Sets the arguments of the tool added last, or of the next one.
    pub fn args(mut self, args: Value) -> Self {
        match self.tool_calls.last_mut() {
            Some(call) if call.args.is_null() => call.args = args,
            _ => self.tool_calls.push(ToolCall::new("").args(args)),
        }
        self
    }

    /// Adds a call with its weight.
    pub fn call(mut self, call: ToolCall) -> Self {
        self.tool_calls.push(call);
        self
    }

    /// Sets how many connections the load is spread over.
    pub fn sessions(mut self, sessions: u32) -> Self {
        self.load.sessions = sessions;
        self
    }

    /// Makes calls on a fixed schedule: the open model.
    pub fn rate(mut self, calls_per_second: f64) -> Self {
        self.load.rate = Some(calls_per_second);
        self
    }

    /// Sets the seed of every random choice.
    pub fn seed(mut self, seed: u64) -> Self {
        self.load.seed = Some(seed);
        self
    }

    /// Ends after this many calls.
    pub fn calls(mut self, calls: u64) -> Self {
        self.load.calls = Some(calls);
        self
    }

    /// Sets the time before anything counts.
    pub fn warmup(mut self, warmup: Duration) -> Self {
        self.load.warmup = warmup;
        self
    }

    /// Checks arguments and results against the schemas of the tools.
    pub fn strict(mut self, strict: bool) -> Self {
        self.load.strict = strict;
        self
    }

    /// Calls every tool where none is named, also those that may write.
    pub fn allow_writes(mut self, allow_writes: bool) -> Self {
        self.load.allow_writes = allow_writes;
        self
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
    fn a_setting_that_the_kind_lacks_or_refuses_is_noted() {
        let problem = |scenario: Scenario| scenario.problems.first().map(ToString::to_string);
        let missing = problem(Scenario::cold_start().concurrent(3)).unwrap();
        assert_eq!(missing, "cold_start has no setting `concurrent`");
        let refused = problem(Scenario::sustained().concurrent(0)).unwrap();
        assert!(
            refused.contains("must be a whole number from 1 to 100000, not 0"),
            "{refused}"
        );
        assert!(Scenario::sustained().concurrent(3).problems.is_empty());
    }

    #[test]
    fn every_kind_round_trips() {
        for entry in crate::drive::scenario::ENTRIES {
            let scenario = Scenario::from((entry.build)());
            let json = serde_json::to_value(&scenario).unwrap();
            let back: Scenario = serde_json::from_value(json).unwrap();
            assert_eq!(back, scenario);
        }
        let json = serde_json::to_value(Scenario::spike()).unwrap();
        assert_eq!(json["kind"]["kind"], "Spike");
    }
}
