//! Anthropic Messages.
//!
//! The blocks of an answer are sent back as they came, whatever they are: thoughts have signatures, and
//! code that runs at the provider waits for results by the ids in them.

use mcprove_import::usage_tokens;

use super::{
    AnswerError, Arguments, CallResult, Entry, Message, ModelAnswer, ModelContent, Question, Stop,
    ToolUse, of_tool,
};
use crate::prelude::*;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "anthropic",
    models: "claude",
    base_url: "https://api.anthropic.com",
    base_url_env: "ANTHROPIC_BASE_URL",
    api_key_env: "ANTHROPIC_API_KEY",
    path: "/v1/messages",
    is_version_in_base: false,
    headers,
    write,
    read,
};

/// The version of the interface.
const VERSION: &str = "2023-06-01";
/// The caller of a call that the model makes itself.
const DIRECT: &str = "direct";

fn headers(key: Option<&str>) -> Vec<(&'static str, String)> {
    let mut headers = vec![("anthropic-version", VERSION.to_owned())];
    headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
    headers
}

#[sparse(lists)]
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    temperature: Option<f64>,
    container: Option<&'a str>,
    system: Option<&'a str>,
    tools: Vec<Value>,
    messages: &'a [MessageOut<'a>],
}

#[derive(Serialize)]
struct MessageOut<'a> {
    role: &'static str,
    content: Content<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Kept(&'a Json),
    Blocks(Vec<Value>),
}

fn write(question: &Question<'_>) -> Vec<u8> {
    let messages: Vec<MessageOut<'_>> =
        question.conversation.messages.iter().map(message).collect();
    let tools = question.named_tools();
    let body = Body {
        model: &question.model.model,
        max_tokens: question.model.max_tokens,
        temperature: question.model.temperature,
        container: question.conversation.container.as_deref(),
        system: question.system.filter(|text| !text.is_empty()),
        tools: tools.map(|tool| of_tool(tool, "input_schema")).collect(),
        messages: &messages,
    };
    // Texts and numbers can always be written.
    serde_json::to_vec(&body).unwrap_or_default()
}

fn message(message: &Message) -> MessageOut<'_> {
    let (role, content) = match message {
        Message::User(text) => ("user", Content::Text(text)),
        Message::Model(kept) => ("assistant", Content::Kept(kept)),
        // Nothing but results may stand here while code of the model waits for them.
        Message::Results(results) => {
            let blocks = results.iter().map(result).collect();
            ("user", Content::Blocks(blocks))
        }
    };
    MessageOut { role, content }
}

fn result(result: &CallResult) -> Value {
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.id });
    // A text must not be empty, but there need not be one.
    if !result.shown.is_empty() {
        block["content"] = result.shown.iter().map(shown).collect();
    }
    if result.is_error {
        block["is_error"] = true.into();
    }
    block
}

fn shown(part: &ModelContent) -> Value {
    match part {
        ModelContent::Text(text) => json!({ "type": "text", "text": text }),
        ModelContent::Picture { media_type, data } => json!({
            "type": "image",
            "source": { "type": "base64", "media_type": media_type, "data": data },
        }),
    }
}

#[derive(Deserialize)]
struct Reply {
    content: Option<Vec<Json>>,
    stop_reason: Option<String>,
    stop_details: Option<Value>,
    #[serde(default)]
    usage: Value,
    container: Option<Container>,
}

#[derive(Deserialize)]
struct Container {
    id: Option<String>,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Json>,
    caller: Option<Value>,
}

fn read(body: &[u8]) -> Result<ModelAnswer, AnswerError> {
    let reply: Reply = serde_json::from_slice(body)?;
    let Some(content) = reply.content else {
        let why = match super::error_message(body) {
            Some(error) => format!("it is an error, {error}"),
            None => "it has no `content`".to_owned(),
        };
        return Err(AnswerError(why));
    };
    let mut text = String::new();
    let mut uses = Vec::new();
    let mut kept: Vec<&str> = Vec::new();
    let mut is_after_text = false;
    for raw in &content {
        let block: Block = serde_json::from_str(raw.text())?;
        let is_text = block.kind == "text";
        if is_text {
            let said = block.text.as_deref().unwrap_or_default();
            if said.is_empty() {
                // It would be refused if it were sent back.
                continue;
            }
            if !text.is_empty() && !is_after_text {
                text.push('\n');
            }
            text.push_str(said);
        } else if block.kind == "tool_use" {
            uses.push(tool_use(block)?);
        }
        is_after_text = is_text;
        kept.push(raw.text());
    }
    // Who has nothing to say says at least that it is done.
    if kept.is_empty() && reply.stop_reason.is_none() {
        let why = "it has neither anything in `content` nor a `stop_reason`";
        return Err(AnswerError(why.to_owned()));
    }
    // The blocks as one list, each as it came.
    let list = (!kept.is_empty()).then(|| format!("[{}]", kept.join(",")));
    Ok(ModelAnswer {
        text,
        uses,
        stop: stop(reply.stop_reason.as_deref(), reply.stop_details.as_ref()),
        tokens: usage_tokens(&reply.usage),
        kept: list.map(|list| serde_json::from_str(&list)).transpose()?,
        container: reply.container.and_then(|container| container.id),
    })
}

fn tool_use(block: Block) -> Result<ToolUse, AnswerError> {
    let (Some(id), Some(name)) = (block.id, block.name) else {
        return Err(AnswerError("a `tool_use` has no id or no name".to_owned()));
    };
    let is_direct = |caller: &Value| caller["type"] == DIRECT;
    Ok(ToolUse {
        id,
        name,
        arguments: Arguments::of_json(block.input.unwrap_or_default()),
        caller: block
            .caller
            .filter(|caller| !caller.is_null() && !is_direct(caller)),
    })
}

fn stop(reason: Option<&str>, details: Option<&Value>) -> Stop {
    match reason {
        Some("end_turn" | "stop_sequence") => Stop::Done,
        Some("tool_use") => Stop::Calls,
        Some("max_tokens" | "model_context_window_exceeded") => Stop::Cut,
        Some("pause_turn") => Stop::Paused,
        Some("refusal") => {
            let told = details.and_then(|details| details.get("explanation")?.as_str());
            Stop::Declined(match told {
                Some(told) => format!("refusal: {told}"),
                None => "refusal".to_owned(),
            })
        }
        _ => Stop::Other,
    }
}

#[cfg(test)]
pub(super) mod tests;
