//! Lists of tools on their way to the client: which tools only read, and which are not to be listed.

use mcprove_trace::ToolHints;
use mcprove_trace::protocol::{VALUES_MAX, count_values};

use crate::prelude::*;

/// The tools of an answer to `tools/list` that say that they only read, or that a repetition changes nothing more.
pub fn repeatable(answer: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct List<'a> {
        #[serde(borrow, default)]
        tools: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Tool {
        name: String,
        annotations: Option<ToolHints>,
    }
    let envelope = Envelope::parse(answer).ok();
    let result = envelope.and_then(|envelope| envelope.result);
    let list = result.and_then(|result| serde_json::from_str::<List<'_>>(result).ok());
    let tools = list.map(|list| list.tools).unwrap_or_default();
    let tools = tools
        .into_iter()
        .filter_map(|raw| serde_json::from_str::<Tool>(raw.get()).ok());
    let repeatable = tools.filter(|tool| {
        let hints = tool.annotations.unwrap_or_default();
        hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true)
    });
    repeatable.map(|tool| tool.name).collect()
}

/// The same answer without the tools that are hidden; `None` if it has none of them, or cannot be
/// taken apart, and so stays as it is.
pub fn without(answer: &[u8], is_hidden: impl Fn(&str) -> bool) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(answer).ok()?;
    if count_values(text) > VALUES_MAX {
        return None;
    }
    let mut message: Map<String, Value> = serde_json::from_str(text).ok()?;
    let tools = message
        .get_mut("result")?
        .get_mut("tools")?
        .as_array_mut()?;
    let before = tools.len();
    tools.retain(|tool| {
        let name = tool.get("name").and_then(Value::as_str);
        !name.is_some_and(&is_hidden)
    });
    if tools.len() == before {
        return None;
    }
    serde_json::to_vec(&message).ok()
}

#[cfg(test)]
mod tests;
