//! The calls of a recorded run, for programs that have the JSON of it at hand.

use mcprove_trace::{Json, ToolCall};
use serde_json::Value;

use super::names;

/// The calls of a recorded run envelope: those of its `tool_calls`, or of the first run inside
/// `runs`. None of anything else. A call without a name has an empty one: it was made, and no
/// expectation may overlook it.
///
/// ```
/// use mcprove_import::tool_calls_from_envelope;
///
/// let envelope = serde_json::json!({"tool_calls": [{"name": "api__search", "server": "api", "args": {"q": "x"}}]});
/// let calls = tool_calls_from_envelope(&envelope);
/// assert_eq!(calls[0].name, "search");
/// assert_eq!(calls[0].args.value()["q"], "x");
/// ```
pub fn tool_calls_from_envelope(envelope: &Value) -> Vec<ToolCall> {
    let runs = envelope.get("runs").and_then(Value::as_array);
    let run = match envelope.get("tool_calls") {
        Some(_) => envelope,
        None => runs.and_then(|runs| runs.first()).unwrap_or(envelope),
    };
    let calls = run.get("tool_calls").and_then(Value::as_array);
    calls.into_iter().flatten().map(call).collect()
}

fn call(call: &Value) -> ToolCall {
    let text = |key: &str| call.get(key).and_then(Value::as_str);
    let server = text("server");
    let name = text("name").unwrap_or_default();
    ToolCall {
        name: server
            .map_or(name, |server| names::without_prefix(name, server))
            .to_owned(),
        server: server.map(str::to_owned),
        args: call.get("args").map_or_else(Json::empty, Json::from),
        caller: names::caller(call.get("caller").cloned().unwrap_or_default()),
        meta: call
            .get("meta")
            .filter(|meta| meta.is_object())
            .cloned()
            .map(Box::new),
        ..ToolCall::default()
    }
}
