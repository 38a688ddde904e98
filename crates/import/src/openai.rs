//! Reads transcripts of `OpenAI` chat completions, and of everything that speaks alike: messages
//! with `tool_calls`, messages of the role `tool`, the older `function_call`, and a response with
//! `choices`. Items of the Responses API are read by [`responses`].
//!
//! Chat completions have no field that tells whether a tool failed, so that is unknown, unless the
//! content is the result of an MCP tool, which has one.

use super::dialogue::{Provider, open_turn, read_messages};
use super::responses;
use crate::prelude::*;

/// Reads the messages of a transcript.
pub struct OpenAi;

/// What the API sent back, or what stands beside the messages.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Response<'a> {
    model: Text,
    instructions: Text,
    /// A text, or a list of items.
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    choices: Option<Vec<Choice>>,
    /// Items of the Responses API.
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    usage: Value,
    pub status: Text,
    pub incomplete_details: Maybe<Details>,
    pub error: Value,
}

/// Why a response is not whole.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Details {
    pub reason: Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Choice {
    message: Option<Message>,
    finish_reason: Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    /// Of an item or a response, which are no messages.
    #[serde(rename = "type")]
    kind: Text,
    choices: Option<IgnoredAny>,
    output: Option<IgnoredAny>,
    role: Text,
    content: Value,
    refusal: Text,
    function_call: Option<Function>,
    tool_calls: Option<Vec<Call>>,
    tool_call_id: Text,
    name: Text,
    finish_reason: Text,
    usage: Value,
    error: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Call {
    id: Text,
    function: Option<Function>,
    custom: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: Option<Value>,
    input: Option<Value>,
}

impl Provider for OpenAi {
    const LISTS: &'static [&'static str] = &["messages", "input", "output"];

    type Beside<'a> = Response<'a>;

    fn begin(builder: &mut RunBuilder, beside: &mut Response<'_>) -> Result {
        builder.model(beside.model.as_deref());
        // A response that continues another one has its own end.
        builder.whole.stop_reason = None;
        let is_new = builder.turns.is_empty();
        let instructions = beside.instructions.as_deref().filter(|_| is_new);
        let input = beside
            .input
            .map(|input| serde_json::from_str::<String>(input.get()))
            .and_then(Result::ok);
        for (role, text) in [("system", instructions), ("user", input.as_deref())] {
            if let Some(text) = text {
                builder.open(role);
                builder.say(text, false);
            }
        }
        Ok(())
    }

    fn message<'a>(builder: &mut RunBuilder, document: &Document<'a>, json: &'a str) -> Result {
        let message: Message = document.parse(json)?;
        if message.choices.is_none() && message.kind.is_some() {
            return responses::add_item(builder, document.parse(json)?);
        }
        if message.choices.is_none() && message.output.is_none() {
            return add_message(builder, message);
        }
        let response: Response = document.parse(json)?;
        builder.model(response.model.as_deref());
        if let Some(output) = response.output {
            read_messages::<Self>(builder, document, output.get()).within("output")?;
        }
        Self::end(builder, response)
    }

    fn end(builder: &mut RunBuilder, beside: Response<'_>) -> Result {
        if beside.choices.is_none() && beside.output.is_none() {
            builder.whole.tokens = tokens::usage(&beside.usage);
            return Ok(());
        }
        if beside.output.is_some() {
            responses::end(builder, &beside);
        }
        if let Some(choices) = beside.choices {
            add_choice(builder, choices).at(0).within("choices")?;
        }
        builder.usage(&beside.usage);
        Ok(())
    }
}

/// Adds the first of several replies.
fn add_choice(builder: &mut RunBuilder, choices: Vec<Choice>) -> Result {
    let more = choices.len().saturating_sub(1);
    let Some(first) = choices.into_iter().next() else {
        return Ok(());
    };
    if more > 0 {
        let choices = many(more, "other choice");
        let note = format!("the response has {choices}, left out");
        builder.notes.push(note);
    }
    let Some(message) = first.message else {
        return refuse(
            sentence!("the choice has no `message`"),
            "pieces of a streamed response must be put together first",
        );
    };
    add_message(builder, message).within("message")?;
    builder.stop(first.finish_reason.as_deref());
    Ok(())
}

fn add_message(builder: &mut RunBuilder, message: Message) -> Result {
    let Some(role) = open_turn(builder, &message.role, &message.error)? else {
        return Ok(());
    };
    if role == "tool" {
        // Before there were ids, a result had the name of its function.
        let id = message
            .tool_call_id
            .as_deref()
            .unwrap_or(message.name.or_empty());
        let (is_error, result) = mcp_result(message.content);
        builder.result(id, is_error, result);
        return Ok(());
    }
    say_content(builder, &message.content)?;
    if let Some(refusal) = message.refusal.as_deref() {
        builder.say(refusal, false);
    }
    if let Some(function) = message.function_call {
        add_call(builder, &function.name.clone(), function);
    }
    for (index, call) in message.tool_calls.into_iter().flatten().enumerate() {
        let id = call.id.or_empty();
        if let Some(custom) = call.custom {
            // A custom tool takes a text, which stays one whatever it looks like.
            let args = arguments(custom.input.unwrap_or_default());
            builder.call(id, tool_call(&custom.name, None, args));
        } else if let Some(function) = call.function {
            add_call(builder, id, function);
        } else {
            let refused = refuse(
                sentence!("the call has no `function`"),
                "a call names its function",
            );
            return refused.at(index).within("tool_calls");
        }
    }
    builder.stop(message.finish_reason.as_deref());
    builder.usage(&message.usage);
    Ok(())
}

fn add_call(builder: &mut RunBuilder, id: &str, function: Function) {
    let arguments = function.arguments.or(function.input);
    let args = builder.arguments(&function.name, arguments.unwrap_or_default());
    builder.call(id, tool_call(&function.name, None, args));
}

/// A text, or parts with texts among them.
pub fn say_content(builder: &mut RunBuilder, content: &Value) -> Result {
    match content {
        Value::Null => {}
        Value::String(text) => builder.say(text, false),
        Value::Array(parts) => {
            for part in parts {
                let text = part.get("text").or_else(|| part.get("refusal"));
                if let Some(text) = text.unwrap_or(part).as_str() {
                    builder.say(text, false);
                }
            }
        }
        _ => {
            let refused = refuse(
                "this is neither a text nor a list of parts",
                "it is a text, or a list of parts such as {\"type\": \"text\", \"text\": \"…\"}",
            );
            return refused.within("content");
        }
    }
    Ok(())
}
