//! Tells the format of a file by the keys that only that format has. The first value that leaves
//! no doubt decides; plain talk without a call could be of either provider, and reads the same.

use super::Format;
use super::dialogue;
use crate::prelude::*;

/// What a value looks like: how sure that is, and which format.
type Look = (u8, Option<Format>);

/// It says nothing.
const NOTHING: Look = (0, None);
/// How sure it is where no other format has this.
const SURE: u8 = 3;

/// The types of parts that only `OpenAI` has.
const OPEN_AI_PARTS: [&str; 6] = [
    "input_text",
    "output_text",
    "input_image",
    "image_url",
    "input_audio",
    "refusal",
];

/// No other format has this.
fn sure(format: Format) -> Look {
    (SURE, Some(format))
}

/// It could be of another format too; every transcript could be one of Anthropic.
fn maybe(format: Format) -> Look {
    (
        if format == Format::Anthropic { 1 } else { 2 },
        Some(format),
    )
}

/// The format of a document that leaves no doubt.
pub fn certain_format(document: &Document<'_>) -> Option<Format> {
    let (weight, format) = look_at_document(document);
    format.filter(|_| weight == SURE)
}

pub fn format(document: &Document<'_>) -> Option<Format> {
    look_at_document(document).1
}

fn look_at_document(document: &Document<'_>) -> Look {
    clearest(document.elements.iter().map(|element| look(element.json)))
}

/// The first look that says most.
fn clearest(looks: impl Iterator<Item = Look>) -> Look {
    let mut clearest = NOTHING;
    for look in looks {
        if look.0 > clearest.0 {
            clearest = look;
        }
        // Nothing says more.
        if clearest.0 == SURE {
            break;
        }
    }
    clearest
}

fn look(json: &str) -> Look {
    if json.starts_with('[') {
        return look_at_messages(json);
    }
    serde_json::from_str::<Outline>(json).map_or(NOTHING, |outline| look_at_object(json, &outline))
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
        sure(Format::Otlp)
    } else if (has("ts") && has("kind")) || schema.starts_with("trace.") {
        sure(Format::Recording)
    } else if is_list("runs") || schema.starts_with("agent-trace") {
        sure(Format::AgentTrace)
    } else if has("request") && has("response") {
        look_at_pair(outline)
    } else if has("choices") || is_list("output") {
        sure(Format::OpenAi)
    } else if is_list("messages") {
        look_at_transcript(outline)
    } else if is_list("input") {
        sure(Format::OpenAi)
    } else if let Some(kind) = text(outline, "type") {
        look_at_type(json, &kind, outline)
    } else if has("role") {
        look_at_message(json)
    } else if has("tool_calls") {
        sure(Format::AgentTrace)
    } else {
        NOTHING
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
        return sure(Format::ClaudeCode);
    }
    match kind {
        _ if is_item(kind) => sure(Format::OpenAi),
        "message" => look_at_message(json),
        "reasoning" | "mcp_list_tools" => maybe(Format::OpenAi),
        _ => NOTHING,
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
        return sure(Format::Anthropic);
    }
    let parts = [outline.get("response"), outline.get("messages")];
    let looks = parts.into_iter().flatten().map(|part| look(part.get()));
    // Without any message it is still a transcript.
    clearest([maybe(Format::Anthropic)].into_iter().chain(looks))
}

fn look_at_messages(json: &str) -> Look {
    let messages: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    clearest(
        messages
            .iter()
            .map(|message| look_at_message(message.get())),
    )
}

fn look_at_message(json: &str) -> Look {
    let message: Value = serde_json::from_str(json).unwrap_or_default();
    let has_any = |keys: &[&str]| keys.iter().any(|key| message.get(key).is_some());
    let kind_of = |value: &Value| value["type"].as_str().unwrap_or_default().to_owned();
    let role = message["role"].as_str();
    let kind = kind_of(&message);
    let keys = [
        "tool_calls",
        "function_call",
        "tool_call_id",
        "refusal",
        "choices",
    ];
    let is_of_open_ai =
        matches!(role, Some("tool" | "function" | "developer")) || has_any(&keys) || is_item(&kind);
    if is_of_open_ai {
        return sure(Format::OpenAi);
    }
    if has_any(&["stop_reason"]) {
        return sure(Format::Anthropic);
    }
    let blocks = message["content"].as_array();
    for kind in blocks.into_iter().flatten().map(kind_of) {
        let mut ends = ["thinking", "tool_use", "tool_result"].into_iter();
        if ends.any(|end| kind.ends_with(end)) {
            return sure(Format::Anthropic);
        }
        if OPEN_AI_PARTS.contains(&kind.as_str()) {
            return sure(Format::OpenAi);
        }
    }
    match role {
        // Anthropic has it beside the messages.
        Some("system") => maybe(Format::OpenAi),
        Some(_) => maybe(Format::Anthropic),
        None => NOTHING,
    }
}

/// Whether this is the type of a call of the Responses API, or of its result.
fn is_item(kind: &str) -> bool {
    kind.ends_with("_call") || kind.ends_with("_call_output")
}

fn text(outline: &Outline<'_>, key: &str) -> Option<String> {
    serde_json::from_str(outline.get(key)?.get()).ok()
}
