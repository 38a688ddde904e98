//! What to call: tools with arguments and weights, and sequences of them.

use crate::prelude::*;
use mcprove_settings::setting::read_tables;

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
#[data(Settings)]
#[must_use]
pub struct ToolCall {
    /// The tool.
    #[setting(required = true)]
    pub name: String,
    /// Its arguments, sent as they are. Null has them made from the tool's schema, with a unique
    /// token in each call by which crossed replies are noticed.
    #[setting(otherwise = "made from the tool's schema, with a unique token")]
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub args: Value,
    /// How often it is chosen, in proportion to the others.
    #[setting(default = 1.0)]
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
    pub fn args(mut self, args: Value) -> Self {
        self.args = args;
        self
    }

    /// Sets the weight.
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }
}

/// A sequence of steps that belong together, as a user's task does.
#[in_seconds]
#[data(Settings)]
pub struct Pattern {
    /// Its name in the report; of a preset if it has no steps.
    #[setting(required = true)]
    #[schemars(description = "Its name in the report.")]
    pub name: String,
    /// How often it is chosen, in proportion to the others.
    #[setting(default = 1.0)]
    #[serde(default = "one")]
    pub weight: f64,
    /// The pause after each step.
    #[setting(kind = TIME_OR_ZERO, otherwise = "`think_time` of the scenario")]
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    pub think_time: Duration,
    /// When a step fails: continue, abort the pattern, or stop the run.
    #[setting(otherwise = "`error_behavior` of the scenario")]
    #[schemars(description = "What happens when a step fails.")]
    #[serde(default)]
    pub error_behavior: ErrorBehavior,
    /// What it does, in order.
    #[setting(otherwise = "those of the preset")]
    #[schemars(description = "The steps, in order.")]
    pub steps: Vec<Step>,
}

impl SettingTable for ToolCall {
    const LABEL: Part = section("scenario.tool_call[]");

    fn advice(name: &str) -> Option<Message> {
        (name == "tool").then(|| sentence!("the tool is called {} here", setting("name")))
    }
}

impl SettingItem for ToolCall {
    const KIND: Kind = Kind::Tables(Self::declared);

    fn read_list(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Vec<Self>> {
        let hint = "write [[scenario.tool_call]] with a name for each tool";
        let calls: Vec<Self> = read_tables(reader, field, hint);
        check_weights(reader, field, calls.iter().map(|call| call.weight));
        Some(calls)
    }
}

/// Something must be chosen at all.
pub fn check_weights(
    reader: &mut Reader<'_>,
    field: &Field,
    weights: impl ExactSizeIterator<Item = f64>,
) {
    let count = weights.len();
    let sum: f64 = weights.sum();
    if count > 0 && (sum <= 0.0 || !sum.is_finite()) {
        let message = sentence!(
            "the weights of {}{}",
            setting(&field.name),
            format!(" add up to {sum}")
        );
        reader.problem(
            &field.span,
            message,
            "give at least one a weight of more than 0",
        );
    }
}

/// What happens when a step of a [`Pattern`] fails.
#[choice(Copy, Default, Eq)]
pub enum ErrorBehavior {
    /// The next step is taken.
    #[default]
    Continue,
    /// The rest of the pattern is left out.
    Abort,
    /// The run ends.
    Stop,
}

impl SettingType for ErrorBehavior {
    const KIND: Kind = Kind::OneOf(&["continue", "abort", "stop"]);

    fn from_data(data: Data) -> Option<Self> {
        serde_json::from_value(Node::new(data).to_json().ok()?).ok()
    }

    fn write(&self) -> Option<Data> {
        let name = serde_json::to_value(self).ok()?;
        Some(Data::Text(name.as_str()?.to_owned()))
    }
}

/// One step of a [`Pattern`].
#[choice]
pub enum Step {
    /// A tool is called; its weight does not matter here.
    Call(ToolCall),
    /// The tools are listed.
    ListTools,
}

impl Step {
    /// The call that it is, if it is one.
    pub fn call(&self) -> Option<&ToolCall> {
        match self {
            Self::Call(call) => Some(call),
            Self::ListTools => None,
        }
    }
}
