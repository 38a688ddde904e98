//! `OpenAI` chat completions, as many other servers speak them too: Ollama, vLLM, gateways.

use mcprove_import::usage_tokens;

use super::{
    AnswerError, Arguments, Entry, Message, ModelAnswer, Question, Stop, ToolUse, of_tool,
};
use crate::agent::model_content::as_text;
use crate::prelude::*;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "openai",
    models: "",
    base_url: "https://api.openai.com/v1",
    base_url_env: "OPENAI_BASE_URL",
    api_key_env: "OPENAI_API_KEY",
    path: "/v1/chat/completions",
    is_version_in_base: true,
    headers,
    write,
    read,
};

/// How calls stood in answers before there could be several.
const OLD_CALL: &str = "function_call";

fn headers(key: Option<&str>) -> Vec<(&'static str, String)> {
    let key = key.map(|key| ("authorization", format!("Bearer {key}")));
    key.into_iter().collect()
}

#[sparse(lists)]
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    temperature: Option<f64>,
    tools: Vec<Value>,
    messages: Value,
}

fn write(question: &Question<'_>) -> Vec<u8> {
    let model = question.model;
    let is_own = is_of_open_ai(&model.model);
    let system = question.system.filter(|text| !text.is_empty());
    let system = system.map(|text| json!({ "role": "system", "content": text }));
    let messages = question.conversation.messages.iter().flat_map(messages);
    let body = Body {
        model: &model.model,
        max_tokens: (!is_own).then_some(model.max_tokens),
        max_completion_tokens: is_own.then_some(model.max_tokens),
        temperature: model.temperature,
        tools: question.named_tools().map(tool).collect(),
        messages: system.into_iter().chain(messages).collect(),
    };
    // Texts and numbers can always be written.
    serde_json::to_vec(&body).unwrap_or_default()
}

/// Whether a model is one that `OpenAI` itself serves. Its newer models refuse `max_tokens`, and all of them
/// take `max_completion_tokens`; Ollama takes that without a word and does not keep to it, and servers of
/// other models know `max_tokens`. Both at once are refused. The name decides, and not the address, so
/// that the same question has the same bytes wherever it goes.
fn is_of_open_ai(model: &str) -> bool {
    // A gateway may have the maker before the model.
    let name = model.strip_prefix("openai/").unwrap_or(model);
    let is_numbered = || {
        let mut characters = name.chars();
        characters.next() == Some('o')
            && characters.next().is_some_and(|next| next.is_ascii_digit())
    };
    let is_open = name.starts_with("gpt-oss");
    !is_open && (name.starts_with("gpt-") || name.starts_with("chatgpt-") || is_numbered())
}

fn tool(tool: (&str, &OfferedTool)) -> Value {
    json!({ "type": "function", "function": of_tool(tool, "parameters") })
}

fn messages(message: &Message) -> Vec<Value> {
    match message {
        Message::User(text) => vec![json!({ "role": "user", "content": text })],
        Message::Model(kept) => vec![kept.value()],
        Message::Results(results) => results
            .iter()
            .map(|result| {
                let text = as_text(&result.shown);
                // There is no other way to say it.
                let text = if result.is_error {
                    format!("Error: {text}")
                } else {
                    text
                };
                json!({ "role": "tool", "tool_call_id": result.id, "content": text })
            })
            .collect(),
    }
}

#[derive(Deserialize)]
struct Reply {
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Value,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    message: Option<Map<String, Value>>,
    finish_reason: Option<String>,
}

fn read(body: &[u8]) -> Result<ModelAnswer, AnswerError> {
    let reply: Reply = serde_json::from_slice(body)?;
    if let Some(error) = reply.error.filter(|error| !error.is_null()) {
        return Err(AnswerError(format!("it is an error, {error}")));
    }
    let choice = reply.choices.and_then(|choices| choices.into_iter().next());
    let Some(Choice {
        message: Some(mut message),
        finish_reason,
    }) = choice
    else {
        return Err(AnswerError("it has no `choices[0].message`".to_owned()));
    };
    let uses = take_uses(&mut message)?;
    if uses.is_empty() && message.get(OLD_CALL).is_some_and(|call| !call.is_null()) {
        let why = format!("it calls a tool with `{OLD_CALL}`, which `tool_calls` replaced");
        return Err(AnswerError(why));
    }
    let text = text(&message);
    let stop = match finish_reason.as_deref() {
        // Gateways say so where what is behind them broke in the middle.
        Some("error") => return Err(AnswerError("it broke off with an error".to_owned())),
        reason => stop(reason, refusal(&message), &uses),
    };
    Ok(ModelAnswer {
        kept: (!uses.is_empty() || !text.is_empty()).then(|| keep(message)),
        stop,
        text,
        uses,
        tokens: usage_tokens(&reply.usage),
        container: None,
    })
}

/// What the model says; where it declines, that stands apart.
fn text(message: &Map<String, Value>) -> String {
    let said = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        _ => String::new(),
    };
    match refusal(message) {
        Some(refusal) if said.is_empty() => refusal.to_owned(),
        _ => said,
    }
}

/// That the model declines, in its words.
fn refusal(message: &Map<String, Value>) -> Option<&str> {
    let refusal = message.get("refusal").and_then(Value::as_str);
    refusal.filter(|refusal| !refusal.is_empty())
}

/// Reads the calls, and makes them fit to be sent back: some servers give no ids, and many refuse
/// arguments that are no JSON, though the model itself wrote them.
fn take_uses(message: &mut Map<String, Value>) -> Result<Vec<ToolUse>, AnswerError> {
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    let mut uses = Vec::new();
    for (place, call) in calls.into_iter().flatten().enumerate() {
        let id = match call["id"].as_str() {
            None | Some("") => format!("call_{place}"),
            Some(id) => id.to_owned(),
        };
        let function = call.get_mut("function").and_then(Value::as_object_mut);
        let Some(function) = function else {
            return Err(AnswerError("a tool call has no `function`".to_owned()));
        };
        let Some(Value::String(name)) = function.get("name").cloned() else {
            return Err(AnswerError("a tool call has no name".to_owned()));
        };
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => Arguments::of_text(text),
            // Some servers have them as they are.
            Some(other) => Arguments::of_json(other.into()),
            None => Arguments::Given(Json::empty()),
        };
        let written = match &arguments {
            Arguments::Given(json) => json.text(),
            Arguments::Bad { .. } => "{}",
        };
        function.insert("arguments".to_owned(), written.into());
        if let Some(fields) = call.as_object_mut() {
            fields.insert("id".to_owned(), id.as_str().into());
            fields.insert("type".to_owned(), "function".into());
        }
        uses.push(ToolUse {
            id,
            name,
            arguments,
            caller: None,
        });
    }
    Ok(uses)
}

/// The message as it came, but for members that say nothing: not every server takes them back.
fn keep(mut message: Map<String, Value>) -> Json {
    message.retain(|name, value| name == "content" || !value.is_null());
    message.insert("role".to_owned(), "assistant".into());
    message.entry("content").or_insert(Value::Null);
    Value::Object(message).into()
}

fn stop(reason: Option<&str>, refusal: Option<&str>, uses: &[ToolUse]) -> Stop {
    match reason {
        // What it filtered is missing, and may be a part of a call.
        Some("content_filter") => Stop::Declined("content_filter".to_owned()),
        _ if refusal.is_some() => Stop::Declined("refusal".to_owned()),
        Some("length") => Stop::Cut,
        // Not every server tells the one from the other.
        _ if !uses.is_empty() => Stop::Calls,
        Some("stop") => Stop::Done,
        _ => Stop::Other,
    }
}

#[cfg(test)]
mod tests;
