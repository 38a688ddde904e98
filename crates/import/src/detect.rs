//! Tells the format of a file by the keys that only that format has. The first value that leaves
//! no doubt decides; plain talk without a call could be of either provider, and reads the same.

use serde_json::Value;
use serde_json::value::RawValue;

use super::Format;
use super::dialogue;
use super::document::{Document, Outline};

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// No other format has this.
    Sure(Format),
    /// It could be of another format too.
    Maybe(Format),
    /// It says nothing.
    Nothing,
}

impl Look {
    /// How much it says: every transcript could be one of Anthropic.
    fn weight(self) -> u8 {
        match self {
            Self::Nothing => 0,
            Self::Maybe(Format::Anthropic) => 1,
            Self::Maybe(_) => 2,
            Self::Sure(_) => 3,
        }
    }
}

/// The format of a document that leaves no doubt.
pub(super) fn certain_format(document: &Document<'_>) -> Option<Format> {
    match clearest(document.elements.iter().map(|element| look(element.json))) {
        Look::Sure(format) => Some(format),
        Look::Maybe(_) | Look::Nothing => None,
    }
}

/// The format of a document.
pub(super) fn format(document: &Document<'_>) -> Option<Format> {
    match clearest(document.elements.iter().map(|element| look(element.json))) {
        Look::Sure(format) | Look::Maybe(format) => Some(format),
        Look::Nothing => None,
    }
}

/// The first look that says most.
fn clearest(looks: impl Iterator<Item = Look>) -> Look {
    let mut clearest = Look::Nothing;
    for look in looks {
        if look.weight() > clearest.weight() {
            clearest = look;
        }
        if let Look::Sure(_) = look {
            break;
        }
    }
    clearest
}

fn look(json: &str) -> Look {
    if json.starts_with('[') {
        return look_at_messages(json);
    }
    match serde_json::from_str::<Outline>(json) {
        Ok(outline) => look_at_object(json, &outline),
        Err(_) => Look::Nothing,
    }
}

fn look_at_object(json: &str, outline: &Outline<'_>) -> Look {
    let has = |key: &str| outline.contains_key(key);
    let is_list = |key: &str| {
        outline
            .get(key)
            .is_some_and(|value| value.get().starts_with('['))
    };
    let schema = text(outline, "schema").unwrap_or_default();
    if has("resourceSpans") || has("resource_spans") {
        Look::Sure(Format::Otlp)
    } else if (has("ts") && has("kind")) || schema.starts_with("trace.") {
        Look::Sure(Format::Recording)
    } else if is_list("runs") || schema.starts_with("agent-trace") {
        Look::Sure(Format::AgentTrace)
    } else if has("request") && has("response") {
        look_at_pair(outline)
    } else if has("choices") || is_list("output") {
        Look::Sure(Format::OpenAi)
    } else if is_list("messages") {
        look_at_transcript(outline)
    } else if is_list("input") {
        Look::Sure(Format::OpenAi)
    } else if let Some(kind) = text(outline, "type") {
        look_at_type(json, &kind, outline)
    } else if has("role") {
        look_at_message(json)
    } else if has("tool_calls") {
        Look::Sure(Format::AgentTrace)
    } else {
        Look::Nothing
    }
}

/// A value that names its type: a line of Claude Code, an item of the Responses API, or a response
/// of Anthropic.
fn look_at_type(json: &str, kind: &str, outline: &Outline<'_>) -> Look {
    let is_session = ["uuid", "sessionId", "session_id", "leafUuid", "messageId"]
        .into_iter()
        .any(|key| outline.contains_key(key));
    let is_turn = matches!(kind, "user" | "assistant") && outline.contains_key("message");
    if is_session || is_turn {
        return Look::Sure(Format::ClaudeCode);
    }
    if kind.ends_with("_call") || kind.ends_with("_call_output") {
        return Look::Sure(Format::OpenAi);
    }
    match kind {
        "message" => look_at_message(json),
        "reasoning" | "mcp_list_tools" => Look::Maybe(Format::OpenAi),
        _ => Look::Nothing,
    }
}

/// A request and what came back.
fn look_at_pair(outline: &Outline<'_>) -> Look {
    let parts = ["response", "request"].into_iter();
    let parts = parts.filter_map(|key| outline.get(key));
    clearest(parts.map(|part| look(dialogue::body(part).get())))
}

fn look_at_transcript(outline: &Outline<'_>) -> Look {
    if outline.contains_key("system") || outline.contains_key("stop_reason") {
        return Look::Sure(Format::Anthropic);
    }
    let parts = [outline.get("response"), outline.get("messages")];
    let looks = parts.into_iter().flatten().map(|part| look(part.get()));
    // Without any message it is still a transcript.
    clearest([Look::Maybe(Format::Anthropic)].into_iter().chain(looks))
}

fn look_at_messages(json: &str) -> Look {
    let messages: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    clearest(
        messages
            .into_iter()
            .map(|message| look_at_message(message.get())),
    )
}

fn look_at_message(json: &str) -> Look {
    let Ok(Value::Object(message)) = serde_json::from_str(json) else {
        return Look::Nothing;
    };
    let has_any = |keys: &[&str]| keys.iter().any(|key| message.contains_key(*key));
    let role = message.get("role").and_then(Value::as_str);
    let kind = message.get("type").and_then(Value::as_str).unwrap_or("");
    let is_item = kind.ends_with("_call") || kind.ends_with("_call_output");
    let is_of_open_ai = matches!(role, Some("tool" | "function" | "developer"))
        || has_any(&[
            "tool_calls",
            "function_call",
            "tool_call_id",
            "refusal",
            "choices",
        ])
        || is_item;
    if is_of_open_ai {
        return Look::Sure(Format::OpenAi);
    }
    if has_any(&["stop_reason"]) {
        return Look::Sure(Format::Anthropic);
    }
    let blocks = message.get("content").and_then(Value::as_array);
    for block in blocks.into_iter().flatten() {
        match block.get("type").and_then(Value::as_str).unwrap_or("") {
            "thinking" | "redacted_thinking" => return Look::Sure(Format::Anthropic),
            kind if kind.ends_with("tool_use") || kind.ends_with("tool_result") => {
                return Look::Sure(Format::Anthropic);
            }
            "input_text" | "output_text" | "input_image" | "image_url" | "input_audio"
            | "refusal" => return Look::Sure(Format::OpenAi),
            _ => {}
        }
    }
    match role {
        // Anthropic has it beside the messages.
        Some("system") => Look::Maybe(Format::OpenAi),
        Some(_) => Look::Maybe(Format::Anthropic),
        None => Look::Nothing,
    }
}

fn text(outline: &Outline<'_>, key: &str) -> Option<String> {
    serde_json::from_str(outline.get(key)?.get()).ok()
}
