//! The words that transcripts share: names of tools, callers, results of MCP, reasons to stop.

use crate::prelude::*;

/// A call as a model writes it: `mcp__server__tool` and `server__tool` name the server too. Where
/// the server is known, only its own prefix is taken off.
pub fn tool_call(name: &str, server: Option<&str>, args: Json) -> ToolCall {
    let (server, name) = match server {
        Some(server) => (Some(server), without_prefix(name, server)),
        None => split(name),
    };
    ToolCall {
        name: name.to_owned(),
        server: server.map(str::to_owned),
        args,
        ..ToolCall::default()
    }
}

/// The arguments of a call, as a protocol has them: absent where there were none, and the same where
/// null was sent.
pub fn arguments(arguments: Value) -> Json {
    match arguments {
        Value::Null => Json::empty(),
        arguments => arguments.into(),
    }
}

/// The server and the tool in a name. A name that has no server stays whole.
pub fn split(name: &str) -> (Option<&str>, &str) {
    let parts = |name: &'_ str| -> Option<usize> {
        let at = name.find("__")?;
        (at > 0 && at + 2 < name.len()).then_some(at)
    };
    let bare = name.strip_prefix("mcp__").unwrap_or(name);
    // `mcp__tool` is a tool of a server that is called `mcp`.
    for name in [bare, name] {
        if let Some(at) = parts(name) {
            return (name.get(..at), name.get(at + 2..).unwrap_or(name));
        }
    }
    (None, name)
}

/// The name without the prefix of its own server.
pub fn without_prefix<'a>(name: &'a str, server: &str) -> &'a str {
    let bare = name.strip_prefix("mcp__").unwrap_or(name);
    [bare, name]
        .into_iter()
        .find_map(|name| name.strip_prefix(server)?.strip_prefix("__"))
        .filter(|name| !name.is_empty() && !server.is_empty())
        .unwrap_or(name)
}

/// The roles of a conversation, and what others call them.
const ROLES: [(&str, &str); 10] = [
    ("user", "user"),
    ("human", "user"),
    ("assistant", "assistant"),
    ("model", "assistant"),
    ("ai", "assistant"),
    ("bot", "assistant"),
    ("tool", "tool"),
    ("function", "tool"),
    ("system", "system"),
    ("developer", "system"),
];

/// The role that a word stands for, however it is written.
pub fn role(word: &str) -> Option<&'static str> {
    ROLES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(word))
        .map(|(_, role)| *role)
}

/// The role that the word of a message stands for.
pub fn known_role(word: &str) -> Result<&'static str> {
    role(word).ok_or_else(|| no_such_role(word).within("role"))
}

/// The error about a turn whose role nobody knows.
pub fn no_such_role(word: &str) -> ImportError {
    let hint = role(word)
        .or_else(|| nearest(ROLES.iter().map(|(known, _)| *known), word))
        .map(|role| sentence!("; did you mean {}?", name(role)));
    ImportError::shape(
        sentence!(
            "no role is called {}{}",
            name(word),
            hint.unwrap_or_default()
        ),
        "the roles are user, assistant, tool and system",
    )
}

/// Who made a call, unless it was the model itself.
pub fn caller(caller: Value) -> Option<Box<Value>> {
    let kind = caller.get("type").unwrap_or(&caller);
    let is_direct = caller.is_null() || kind.as_str() == Some("direct");
    (!is_direct).then(|| Box::new(caller))
}

/// Whether a result is an error, where it is the result of an MCP tool and says so. One that is
/// written as a text is returned parsed.
pub fn mcp_result(result: Value) -> (Option<bool>, Value) {
    let parsed = match &result {
        Value::String(text)
            if text.trim_start().starts_with('{') && text.contains("\"isError\"") =>
        {
            serde_json::from_str(text).ok()
        }
        _ => None,
    };
    match parsed.as_ref().unwrap_or(&result).get("isError") {
        Some(&Value::Bool(is_error)) => (Some(is_error), parsed.unwrap_or(result)),
        _ => (None, result),
    }
}

/// Why a run ended whose last reply stopped for this reason, in the words of Anthropic, `OpenAI` and
/// OpenTelemetry. One that is not known is noted.
pub fn stop_reason(reason: &str, notes: &mut Vec<String>) -> Option<StopReason> {
    match reason {
        "end_turn" | "stop_sequence" | "stop" | "completed" => Some(StopReason::Completed),
        "max_tokens" | "model_context_window_exceeded" | "length" | "max_output_tokens" => {
            Some(StopReason::TokenBudget)
        }
        "error" => Some(StopReason::Error),
        // The run went on.
        "tool_use" | "pause_turn" | "tool_calls" | "tool_call" | "function_call" => None,
        _ => {
            let reason = phrase::name(reason);
            notes.push(format!(
                "the last reply stopped because of {reason}, which does not say how the run ended"
            ));
            None
        }
    }
}

/// What `_meta` says besides how to tell of progress.
pub fn meta(meta: Value) -> Option<Box<Value>> {
    let Value::Object(mut meta) = meta else {
        return None;
    };
    meta.remove("progressToken");
    (!meta.is_empty()).then(|| Box::new(Value::Object(meta)))
}
