//! Reads transcripts of `OpenAI` chat completions, and of everything that speaks alike: messages
//! with `tool_calls`, messages of the role `tool`, the older `function_call`, and a response with
//! `choices`. Items of the Responses API are read by [`responses`].
//!
//! Chat completions have no field that tells whether a tool failed, so that is unknown, unless the
//! content is the result of an MCP tool, which has one.

use serde_json::{Map, Value};

use super::builder::RunBuilder;
use super::dialogue::{self, Settings, failure, no_role};
use super::few::many;
use super::names::{arguments, mcp_result, no_such_role, role, take_text, text, tool_call};
use super::{ImportError, responses, tokens};

/// Reads the messages of one transcript.
#[derive(Debug, Default)]
pub(super) struct Reader {
    builder: RunBuilder,
}

impl dialogue::Reader for Reader {
    const LISTS: &'static [&'static str] = &["messages", "input", "output"];

    fn begin(&mut self, settings: &Settings<'_, '_>) -> Result<(), ImportError> {
        self.builder.model(settings.get("model")?.as_str());
        // A response that continues another one has its own end.
        self.builder.whole().stop_reason = None;
        if let Some(instructions) = settings.get("instructions")?.as_str()
            && self.builder.is_new()
        {
            self.builder.open("system");
            self.builder.say(instructions, false);
        }
        if settings.has("input")
            && let Some(prompt) = settings.get("input")?.as_str()
        {
            self.builder.open("user");
            self.builder.say(prompt, false);
        }
        Ok(())
    }

    fn message(&mut self, message: Value) -> Result<(), ImportError> {
        let Value::Object(mut message) = message else {
            return Err(no_role());
        };
        if message.contains_key("choices") {
            return self.response(message);
        }
        match take_text(&mut message, "type") {
            Some(kind) => responses::add_item(&mut self.builder, &kind, message),
            None if message.contains_key("output") => self.items(message),
            None => self.chat_message(message),
        }
    }

    fn end(&mut self, settings: &Settings<'_, '_>) -> Result<(), ImportError> {
        let response = settings.response()?;
        if !response.is_null() {
            self.message(response)
                .map_err(|error| error.within("response"))?;
        }
        let usage = settings.get("usage")?;
        if settings.has("choices") {
            self.choices(settings.get("choices")?)?;
            self.builder.usage(Some(&usage));
        } else if settings.has("output") {
            let mut ending = Map::new();
            for key in ["status", "incomplete_details", "error"] {
                ending.insert(key.to_owned(), settings.get(key)?);
            }
            responses::end(&mut self.builder, &Value::Object(ending));
            self.builder.usage(Some(&usage));
        } else {
            self.builder.whole().tokens = tokens::usage(&usage);
        }
        Ok(())
    }

    fn builder(&mut self) -> &mut RunBuilder {
        &mut self.builder
    }
}

impl Reader {
    /// What the API sent back.
    fn response(&mut self, mut response: Map<String, Value>) -> Result<(), ImportError> {
        self.builder.model(text(&response, "model"));
        let choices = response.remove("choices").unwrap_or_default();
        self.choices(choices)?;
        self.builder.usage(response.get("usage"));
        Ok(())
    }

    /// What the Responses API sent back.
    fn items(&mut self, mut response: Map<String, Value>) -> Result<(), ImportError> {
        self.builder.model(text(&response, "model"));
        let output = response.remove("output").unwrap_or_default();
        let Value::Array(items) = output else {
            let error = ImportError::shape("this must be a list", "a response has its items here");
            return Err(error.within("output"));
        };
        for (index, item) in items.into_iter().enumerate() {
            dialogue::Reader::message(self, item)
                .map_err(|error| error.at(index).within("output"))?;
        }
        let usage = response.remove("usage");
        responses::end(&mut self.builder, &Value::Object(response));
        self.builder.usage(usage.as_ref());
        Ok(())
    }

    fn choices(&mut self, choices: Value) -> Result<(), ImportError> {
        let Value::Array(choices) = choices else {
            let error =
                ImportError::shape("this must be a list", "a response has its replies here");
            return Err(error.within("choices"));
        };
        let more = choices.len().saturating_sub(1);
        let Some(mut first) = choices.into_iter().next() else {
            return Ok(());
        };
        if more > 0 {
            let choices = many(more, "other choice");
            self.builder
                .note(format!("the response has {choices}, left out"));
        }
        let message = first.get_mut("message").map(Value::take);
        let Some(Value::Object(message)) = message else {
            let error = ImportError::shape(
                "the choice has no `message`",
                "pieces of a streamed response must be put together first",
            );
            return Err(error.at(0).within("choices"));
        };
        self.chat_message(message)
            .map_err(|error| error.within("message").at(0).within("choices"))?;
        if let Some(reason) = first.get("finish_reason").and_then(Value::as_str) {
            self.builder.stop(reason);
        }
        Ok(())
    }

    fn chat_message(&mut self, mut message: Map<String, Value>) -> Result<(), ImportError> {
        let Some(word) = take_text(&mut message, "role") else {
            let message = Value::Object(message);
            let failure = failure(&message).ok_or_else(no_role)?;
            self.builder.fail(&failure);
            return Ok(());
        };
        let role = role(&word).ok_or_else(|| no_such_role(&word).within("role"))?;
        let content = message.remove("content").unwrap_or_default();
        self.builder.open(role);
        if role == "tool" {
            // Before there were ids, a result had the name of its function.
            let id = text(&message, "tool_call_id").or_else(|| text(&message, "name"));
            let (is_error, result) = mcp_result(content);
            self.builder
                .result(id.unwrap_or_default(), is_error, result);
            return Ok(());
        }
        say_content(&mut self.builder, &content).map_err(|error| error.within("content"))?;
        if let Some(refusal) = text(&message, "refusal") {
            self.builder.say(refusal, false);
        }
        if let Some(function) = message
            .remove("function_call")
            .filter(|call| !call.is_null())
        {
            let name = function.get("name").and_then(Value::as_str);
            let id = name.unwrap_or_default().to_owned();
            self.call(&id, function)
                .map_err(|error| error.within("function_call"))?;
        }
        self.calls(message.remove("tool_calls").unwrap_or_default())
            .map_err(|error| error.within("tool_calls"))?;
        if let Some(reason) = text(&message, "finish_reason") {
            self.builder.stop(reason);
        }
        self.builder.usage(message.get("usage"));
        Ok(())
    }

    fn calls(&mut self, calls: Value) -> Result<(), ImportError> {
        let calls = match calls {
            Value::Null => return Ok(()),
            Value::Array(calls) => calls,
            _ => {
                return Err(ImportError::shape(
                    "this must be a list",
                    "a message has its calls here",
                ));
            }
        };
        for (index, mut call) in calls.into_iter().enumerate() {
            let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
            let id = id.to_owned();
            if let Some(custom) = call.get_mut("custom").map(Value::take) {
                self.custom_call(&id, custom)
                    .map_err(|error| error.within("custom").at(index))?;
                continue;
            }
            let function = call.get_mut("function").map(Value::take);
            self.call(&id, function.unwrap_or_default())
                .map_err(|error| error.within("function").at(index))?;
        }
        Ok(())
    }

    fn call(&mut self, id: &str, mut function: Value) -> Result<(), ImportError> {
        let name = take_name(&mut function)?;
        let arguments = ["arguments", "input"]
            .into_iter()
            .find_map(|key| Some(function.get_mut(key)?.take()));
        let args = self.builder.arguments(&name, arguments);
        self.builder.call(id, tool_call(&name, None, args));
        Ok(())
    }

    /// A custom tool takes a text, which stays one whatever it looks like.
    fn custom_call(&mut self, id: &str, mut custom: Value) -> Result<(), ImportError> {
        let name = take_name(&mut custom)?;
        let args = arguments(custom.get_mut("input").map(Value::take));
        self.builder.call(id, tool_call(&name, None, args));
        Ok(())
    }
}

fn take_name(function: &mut Value) -> Result<String, ImportError> {
    match function.get_mut("name").map(Value::take) {
        Some(Value::String(name)) => Ok(name),
        _ => Err(ImportError::shape(
            "the call has no `name`",
            "a call names its function",
        )),
    }
}

/// A text, or parts with texts among them.
pub(super) fn say_content(builder: &mut RunBuilder, content: &Value) -> Result<(), ImportError> {
    match content {
        Value::Null => Ok(()),
        Value::String(text) => {
            builder.say(text, false);
            Ok(())
        }
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| {
                let text = part.get("text").or_else(|| part.get("refusal"));
                text.unwrap_or(part).as_str()
            });
            for text in texts {
                builder.say(text, false);
            }
            Ok(())
        }
        _ => Err(ImportError::shape(
            "this is neither a text nor a list of parts",
            "it is a text, or a list of parts such as {\"type\": \"text\", \"text\": \"…\"}",
        )),
    }
}
