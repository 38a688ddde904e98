//! Reads transcripts of the Anthropic Messages API: what was sent (`model`, `system`, `messages`)
//! and what came back (an object with `"type": "message"`, which can stand among the messages,
//! under `response`, or after them; or an `error`, which ends the run).
//!
//! A block whose type ends in `tool_use` is a call, one that ends in `tool_result` its result: so
//! are the tools of the client, of an MCP server and of Anthropic itself told alike. A result
//! without `is_error` is no error, as the API defines it. Thinking is no evidence and is left out.

use serde_json::{Map, Value};

use super::builder::RunBuilder;
use super::dialogue::{self, Settings, failure, no_role};
use super::names::{arguments, caller, no_such_role, role, take_text, text, tool_call};
use super::{ImportError, tokens};

/// Reads the messages of one transcript.
#[derive(Debug, Default)]
pub(super) struct Reader {
    builder: RunBuilder,
}

impl dialogue::Reader for Reader {
    const LISTS: &'static [&'static str] = &["messages"];

    fn begin(&mut self, settings: &Settings<'_, '_>) -> Result<(), ImportError> {
        self.builder.model(settings.get("model")?.as_str());
        let system = settings.get("system")?;
        if !system.is_null() && self.builder.is_new() {
            self.builder.open("system");
            add_content(&mut self.builder, system).map_err(|error| error.within("system"))?;
        }
        Ok(())
    }

    fn message(&mut self, message: Value) -> Result<(), ImportError> {
        let Value::Object(mut message) = message else {
            return Err(no_role());
        };
        let Some(word) = take_text(&mut message, "role") else {
            let message = Value::Object(message);
            let failure = failure(&message).ok_or_else(no_role)?;
            self.builder.fail(&failure);
            return Ok(());
        };
        let role = role(&word).ok_or_else(|| no_such_role(&word).within("role"))?;
        self.builder.model(text(&message, "model"));
        self.builder.open(role);
        add_body(&mut self.builder, &mut message)
    }

    fn end(&mut self, settings: &Settings<'_, '_>) -> Result<(), ImportError> {
        let response = settings.response()?;
        if !response.is_null() {
            self.message(response)
                .map_err(|error| error.within("response"))?;
        }
        if let Some(reason) = settings.get("stop_reason")?.as_str() {
            self.builder.stop(reason);
        }
        self.builder.whole().tokens = tokens::usage(&settings.get("usage")?);
        Ok(())
    }

    fn builder(&mut self) -> &mut RunBuilder {
        &mut self.builder
    }
}

/// Adds what a message has to the turn that is open.
pub(super) fn add_body(
    builder: &mut RunBuilder,
    message: &mut Map<String, Value>,
) -> Result<(), ImportError> {
    if let Some(content) = message.remove("content") {
        add_content(builder, content).map_err(|error| error.within("content"))?;
    }
    if let Some(reason) = text(message, "stop_reason") {
        builder.stop(reason);
    }
    builder.usage(message.get("usage"));
    Ok(())
}

/// A text, or blocks.
fn add_content(builder: &mut RunBuilder, content: Value) -> Result<(), ImportError> {
    match content {
        Value::Null => Ok(()),
        Value::String(text) => {
            builder.say(&text, false);
            Ok(())
        }
        Value::Array(blocks) => {
            let mut was_cited = false;
            for (index, block) in blocks.into_iter().enumerate() {
                // A sentence with sources comes in pieces.
                let is_cited = block.get("citations").is_some();
                add_block(builder, block, is_cited || was_cited)
                    .map_err(|error| error.at(index))?;
                was_cited = is_cited;
            }
            Ok(())
        }
        _ => Err(ImportError::shape(
            "this is neither a text nor a list of blocks",
            "it is a text, or a list of blocks such as {\"type\": \"text\", \"text\": \"…\"}",
        )),
    }
}

fn add_block(builder: &mut RunBuilder, block: Value, is_joined: bool) -> Result<(), ImportError> {
    let Value::Object(mut block) = block else {
        return Err(no_type());
    };
    let kind = take_text(&mut block, "type").ok_or_else(no_type)?;
    if kind == "text" {
        builder.say(text(&block, "text").unwrap_or_default(), is_joined);
        Ok(())
    } else if kind.ends_with("tool_use") {
        add_call(builder, block, &kind)
    } else {
        if kind.ends_with("tool_result") {
            add_result(builder, block, &kind);
        }
        Ok(())
    }
}

fn add_call(
    builder: &mut RunBuilder,
    mut block: Map<String, Value>,
    kind: &str,
) -> Result<(), ImportError> {
    let Some(name) = take_text(&mut block, "name") else {
        return Err(ImportError::shape(
            format!("the `{kind}` block has no `name`"),
            "a call names its tool",
        ));
    };
    let input = arguments(block.remove("input"));
    let mut call = tool_call(&name, text(&block, "server_name"), input);
    call.caller = caller(block.remove("caller"));
    builder.call(text(&block, "id").unwrap_or_default(), call);
    Ok(())
}

fn add_result(builder: &mut RunBuilder, mut block: Map<String, Value>, kind: &str) {
    let content = block.remove("content").unwrap_or_default();
    let is_error = match (kind, block.get("is_error")) {
        (_, Some(&Value::Bool(is_error))) => Some(is_error),
        ("tool_result" | "mcp_tool_result", None | Some(Value::Null)) => Some(false),
        // Anthropic's own tools have an object of another type where they failed.
        (_, None) => Some(
            content
                .get("type")
                .and_then(Value::as_str)
                .is_some_and(|kind| kind.ends_with("_error")),
        ),
        (_, Some(_)) => None,
    };
    let id = take_text(&mut block, "tool_use_id").unwrap_or_default();
    builder.result(&id, is_error, content);
}

fn no_type() -> ImportError {
    ImportError::shape(
        "the block has no `type`",
        "a block is an object such as {\"type\": \"text\", \"text\": \"…\"}",
    )
}
