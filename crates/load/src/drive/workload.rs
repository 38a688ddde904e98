//! What to call: tools with arguments and weights, and sequences of them.

use std::time::Duration;

use mcprove_settings::quantity::seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call to make, chosen among others by its weight.
///
/// ```
/// use mcprove_load::drive::ToolCall;
/// use serde_json::json;
///
/// let call = ToolCall::new("search").args(json!({ "query": "x" })).weight(0.3);
/// assert_eq!(call.weight, 0.3);
/// assert!(ToolCall::new("search").args.is_null());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its arguments, sent as they are. Null has them made from the tool's schema, with a unique
    /// token in each call by which crossed replies are noticed.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub args: Value,
    /// How often it is chosen, in proportion to the others.
    #[serde(default = "one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

impl ToolCall {
    /// A call of `name` with arguments made from its schema.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            args: Value::Null,
            weight: one(),
        }
    }

    /// Sets the arguments.
    #[must_use]
    pub fn args(mut self, args: Value) -> Self {
        self.args = args;
        self
    }

    /// Sets the weight.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }
}

/// A sequence of steps that belong together, as a user's task does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pattern {
    /// Its name in the report.
    pub name: String,
    /// How often it is chosen, in proportion to the others.
    #[serde(default = "one")]
    pub weight: f64,
    /// The pause after each step.
    #[serde(
        rename = "think_time_secs",
        with = "seconds",
        default,
        skip_serializing_if = "Duration::is_zero"
    )]
    #[schemars(with = "f64")]
    pub think_time: Duration,
    /// What happens when a step fails.
    #[serde(default)]
    pub error_behavior: ErrorBehavior,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// What happens when a step of a [`Pattern`] fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorBehavior {
    /// The next step is taken.
    #[default]
    Continue,
    /// The rest of the pattern is left out.
    Abort,
    /// The run ends.
    Stop,
}

/// One step of a [`Pattern`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A tool is called; its weight does not matter here.
    Call(ToolCall),
    /// The tools are listed.
    ListTools,
}
