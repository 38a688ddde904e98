//! An agent trace: what an agent was asked, which tools it called, what came back, and what it said
//! in the end. Every metric in [`mcprove_score::agent`] reads this and nothing else. What a source does not
//! tell is absent here, which means unknown, never zero.

use super::fault::FaultKind;
use super::json::Json;
use super::whole;
use crate::prelude::*;

/// The version of the format.
pub const AGENT_TRACE_FORMAT: &str = "agent-trace.v1";

/// An agent trace file (format `agent-trace.v1`): the runs of one agent on one task.
///
/// ```
/// use mcprove_trace::AgentTrace;
///
/// let text = r#"{"schema":"agent-trace.v1","runs":[
///     {"tool_calls":[{"name":"search","args":{"q":"x"}}],"final_response":"Found it."}]}"#;
/// let trace: AgentTrace = serde_json::from_str(text).unwrap();
/// assert_eq!(trace.runs[0].tool_calls[0].name, "search");
/// assert_eq!(trace.runs[0].passed, None);
/// ```
#[data]
#[schemars(description = "The runs of one agent on one task.")]
pub struct AgentTrace {
    /// `agent-trace.v1`.
    pub schema: String,
    /// The runs, in the order in which they were made.
    pub runs: Vec<AgentRun>,
}

impl AgentTrace {
    /// A trace of these runs.
    pub fn new(runs: Vec<AgentRun>) -> Self {
        Self {
            schema: AGENT_TRACE_FORMAT.into(),
            runs,
        }
    }
}

/// What a file of agent traces can hold (format `agent-trace.v1`): the runs of one agent on one task,
/// or one run alone. Its schema is published; [`import`](mcprove_import::import) reads it.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(
    untagged,
    title = "agent-trace.v1",
    description = "The runs of one agent on one task, or one run alone."
)]
// Only its schema is used.
#[allow(clippy::large_enum_variant)]
pub enum AgentTraceFile {
    /// The runs of one agent on one task.
    Trace(AgentTrace),
    /// One run.
    Run(AgentRun),
}

/// One run of an agent.
#[sparse]
#[data(Default)]
pub struct AgentRun {
    /// The model.
    pub model: Option<String>,
    /// What the agent was asked.
    pub prompt: Option<String>,
    /// What the agent said in the end.
    pub final_response: Option<String>,
    /// The calls, in the order in which they were made; parallel ones in the order of the message.
    pub tool_calls: Vec<ToolCall>,
    /// What came back. A call without an entry has an unknown result.
    #[serde(
        default,
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tool_results: Vec<ToolResult>,
    /// The conversation around the calls.
    pub conversation: Option<Conversation>,
    /// The faults that calls met.
    #[serde(
        default,
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub faults: Vec<FaultMark>,
    /// Whether the run did its task, by whoever judged it.
    pub passed: Option<bool>,
}

/// Null is the same as absent.
fn null_as_empty<'de, D: Deserializer<'de>, Item: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<Item>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl AgentRun {
    /// The result of each call, where it is known. The last one counts, where there are several.
    pub fn results(&self) -> Vec<Option<&ToolResult>> {
        let mut results = vec![None; self.tool_calls.len()];
        for result in &self.tool_results {
            if let Some(place) = results.get_mut(result.call_index) {
                *place = Some(result);
            }
        }
        results
    }

    /// Why the run ended, if it is known.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.conversation.as_ref()?.stop_reason
    }

    /// The turns of the conversation, if they are known.
    pub fn turns(&self) -> Option<&[Turn]> {
        self.conversation.as_ref()?.turns.as_deref()
    }
}

/// One tool call.
#[sparse]
#[data]
pub struct ToolCall {
    /// The tool, without a `server__` prefix.
    pub name: String,
    /// The server that has the tool.
    pub server: Option<String>,
    /// The arguments: `{}` when there were none, null when they are unknown.
    #[serde(default = "Json::empty")]
    pub args: Json,
    /// Who made the call, where it was not the model itself: code that the model wrote.
    pub caller: Option<Box<Value>>,
    /// What went beside the arguments, in `_meta`, but for the token of progress: idempotency keys may
    /// stand there.
    pub meta: Option<Box<Value>>,
    /// What the server says of the tool.
    pub annotations: Option<ToolHints>,
    /// Which of several clients of a recording made the call, counted from 0.
    pub client: Option<u32>,
}

/// What a server says of a tool, in the `annotations` of its list.
#[sparse]
#[data(Copy, Default, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ToolHints {
    /// Whether the tool changes nothing.
    pub read_only_hint: Option<bool>,
    /// Whether calls with the same arguments change nothing more than one.
    pub idempotent_hint: Option<bool>,
}

impl Default for ToolCall {
    /// A call without arguments.
    fn default() -> Self {
        Self {
            name: String::new(),
            server: None,
            args: Json::empty(),
            caller: None,
            meta: None,
            annotations: None,
            client: None,
        }
    }
}

/// What came back from one call.
#[sparse]
#[data(Default)]
pub struct ToolResult {
    /// The place of the call in `tool_calls`.
    #[serde(deserialize_with = "whole::index")]
    pub call_index: usize,
    /// Whether it was an error.
    pub is_error: Option<bool>,
    /// The result, or the error; null is unknown.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub result: Json,
}

/// What was said around the calls.
#[sparse]
#[data(Default)]
pub struct Conversation {
    /// Why the run ended.
    pub stop_reason: Option<StopReason>,
    /// How long the run took.
    pub duration_ms: Option<f64>,
    /// The tokens that the run took.
    pub tokens: Option<Tokens>,
    /// The turns, in order.
    pub turns: Option<Vec<Turn>>,
    /// The requests to the model that failed and were sent again, in order.
    pub retries: Option<Vec<Retry>>,
    /// What broke, where the run ended with `error`.
    pub error: Option<String>,
}

/// A request to the model that failed and was sent again.
#[sparse]
#[data(Default)]
pub struct Retry {
    /// Which answer of the model was asked for, counted from 0.
    #[serde(deserialize_with = "whole::index")]
    pub answer: usize,
    /// The HTTP status of the failure; absent where no answer came at all.
    pub status: Option<u16>,
    /// What happened.
    pub message: String,
    /// How long was waited before the next try.
    pub waited_ms: Option<f64>,
}

/// Why a run ended.
#[choice(Copy, Eq)]
pub enum StopReason {
    /// The agent was done.
    Completed,
    /// It had no turns left.
    TurnBudget,
    /// It had no tokens left.
    TokenBudget,
    /// It had no tool calls left.
    ToolCallBudget,
    /// It had no time left.
    TimeBudget,
    /// Something broke.
    Error,
}

/// Tokens that a run took.
#[sparse]
#[data(Copy, Default, Eq)]
pub struct Tokens {
    /// What went into the model.
    #[serde(default, deserialize_with = "whole::unsigned")]
    pub prompt: Option<u64>,
    /// What the model wrote.
    #[serde(default, deserialize_with = "whole::unsigned")]
    pub completion: Option<u64>,
    /// Both.
    #[serde(default, deserialize_with = "whole::unsigned")]
    pub total: Option<u64>,
}

impl Tokens {
    /// All tokens: the total where it is given, else the sum of both parts where both are.
    pub fn sum(&self) -> Option<u64> {
        self.total
            .or_else(|| Some(self.prompt?.saturating_add(self.completion?)))
    }
}

/// One turn of a conversation.
#[sparse]
#[data(Eq)]
pub struct Turn {
    /// `user`, `assistant`, `tool` or `system`.
    pub role: String,
    /// What was said; absent in a turn that only calls tools.
    pub text: Option<String>,
}

/// What a server answered behind a fault.
#[choice(Copy, Eq)]
pub enum RealAnswer {
    /// A success: the call was executed.
    Success,
    /// An error.
    Error,
    /// Nothing, as far as was watched: the call was cancelled before, or the server ended.
    Nothing,
}

/// A fault that a call met.
#[sparse]
#[data(Default)]
pub struct FaultMark {
    /// The place of the call in `tool_calls`.
    #[serde(deserialize_with = "whole::index")]
    pub call_index: usize,
    /// The name of the fault.
    pub fault: Option<String>,
    /// Its kind.
    pub kind: FaultKind,
    /// How late the answer of a `slow` call was.
    #[serde(default, deserialize_with = "whole::unsigned")]
    pub delay_ms: Option<u64>,
    /// How many calls a `recover_after` fault lets hang.
    #[serde(default, deserialize_with = "whole::unsigned")]
    pub failures: Option<u64>,
    /// What the server answered behind a fault that executes the call and keeps the answer back. Without it the
    /// call counts as executed.
    pub real_answer: Option<RealAnswer>,
    /// When the agent noticed, on a real clock, in milliseconds since the call began. A time before
    /// that did not happen.
    #[serde(default, deserialize_with = "whole::signed")]
    pub detected_ms: Option<i64>,
    /// When the agent had recovered, on a real clock, in milliseconds since the call began. A time
    /// before that did not happen.
    #[serde(default, deserialize_with = "whole::signed")]
    pub recovered_ms: Option<i64>,
    /// How long a real clock watched the call, in milliseconds since it began: what is not marked
    /// did not happen until then.
    #[serde(default, deserialize_with = "whole::unsigned")]
    pub watched_ms: Option<u64>,
    /// When the connection of the agent ended while it had no answer, on a real clock, in milliseconds since
    /// the call began. Without `detected_ms` that is the latest moment at which it may have noticed.
    #[serde(default, deserialize_with = "whole::unsigned")]
    pub left_ms: Option<u64>,
    /// Whether a real clock saw further calls after the agent noticed; without any, it may have told its
    /// user of the failure, which no clock sees.
    pub went_on: Option<bool>,
}

impl FaultMark {
    /// Whether the times are those of a real clock: what is not marked did not happen.
    pub fn is_real_clock(&self) -> bool {
        self.detected_ms.or(self.recovered_ms).is_some()
            || self.watched_ms.or(self.left_ms).is_some()
    }
}
