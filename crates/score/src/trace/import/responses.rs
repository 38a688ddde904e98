//! Reads items of the `OpenAI` Responses API. Items that follow each other without a result or a
//! word of the user between them are one reply.

use serde_json::{Map, Value};

use super::ImportError;
use super::builder::RunBuilder;
use super::names::{arguments, known_role, mcp_result, take_text, text, tool_call};
use super::openai::{Response, say_content};
use crate::trace::{Json, StopReason};

/// What an item of a tool of `OpenAI` has besides the arguments of the call.
const NO_ARGUMENTS: &[&str] = &[
    "type",
    "id",
    "call_id",
    "status",
    "container_id",
    "pending_safety_checks",
    "approval_request_id",
    "server_label",
    "created_by",
    "error",
    "output",
    "outputs",
    "result",
    "results",
];

/// Where an item of a tool that `OpenAI` runs has its result.
const RESULTS: [&str; 4] = ["output", "outputs", "result", "results"];

/// Adds one item. Types that are neither said nor called (reasoning, lists of tools, approvals)
/// are left out.
pub(super) fn add_item(
    builder: &mut RunBuilder,
    kind: &str,
    mut item: Map<String, Value>,
) -> Result<(), ImportError> {
    if kind == "message" {
        return add_message(builder, &item);
    }
    if kind.ends_with("_call_output") {
        let (told, output) = mcp_result(remove(&mut item, "output"));
        let has_failed = text(&item, "status") == Some("failed");
        let is_error = told.or(has_failed.then_some(true));
        builder.open("tool");
        builder.result(text(&item, "call_id").unwrap_or_default(), is_error, output);
        return Ok(());
    }
    // `function_call`, `mcp_call`, `custom_tool_call`, and tools of OpenAI: `web_search_call`.
    let Some(own_name) = kind.strip_suffix("_call") else {
        return Ok(());
    };
    let is_named = matches!(kind, "function_call" | "mcp_call" | "custom_tool_call");
    let name = match take_text(&mut item, "name") {
        Some(name) => name,
        None if is_named => {
            return Err(ImportError::shape(
                format!("the `{kind}` item has no `name`"),
                "a call names its tool",
            ));
        }
        None => own_name.to_owned(),
    };
    let args = match kind {
        "function_call" | "mcp_call" => builder.arguments(&name, remove(&mut item, "arguments")),
        // A text, which stays one whatever it looks like.
        "custom_tool_call" => arguments(remove(&mut item, "input")),
        _ => own_arguments(&mut item),
    };
    let call = tool_call(&name, text(&item, "server_label"), args);
    let id = text(&item, "call_id").or_else(|| text(&item, "id"));
    let id = id.unwrap_or_default().to_owned();
    builder.open_or_resume_agent();
    builder.call(&id, call);
    if text(&item, "status") == Some("incomplete") {
        builder.unfinished(&name);
    }
    add_own_result(builder, &id, item);
    Ok(())
}

/// The arguments of a tool of `OpenAI`: what it is to do, or what else its item has. One that has
/// nothing else does not tell them.
fn own_arguments(item: &mut Map<String, Value>) -> Json {
    let whole = ["action", "arguments", "input"]
        .into_iter()
        .find_map(|key| item.remove(key).filter(|value| !value.is_null()));
    if let Some(whole) = whole {
        return whole.into();
    }
    let keys: Vec<String> = item
        .iter()
        .filter(|(key, value)| !NO_ARGUMENTS.contains(&key.as_str()) && !value.is_null())
        .map(|(key, _)| key.clone())
        .collect();
    if keys.is_empty() {
        return Json::default();
    }
    let taken = keys.into_iter().filter_map(|key| item.remove_entry(&key));
    Value::Object(taken.collect()).into()
}

fn add_message(builder: &mut RunBuilder, item: &Map<String, Value>) -> Result<(), ImportError> {
    let word = text(item, "role").unwrap_or("assistant");
    match known_role(word)? {
        "assistant" => builder.open_or_resume_agent(),
        role => {
            builder.open(role);
        }
    }
    let content = item.get("content").unwrap_or(&Value::Null);
    say_content(builder, content)
}

/// A call that `OpenAI` made itself has its result with it.
fn add_own_result(builder: &mut RunBuilder, id: &str, mut item: Map<String, Value>) {
    let has_failed = text(&item, "status") == Some("failed");
    let mut take = |key: &str| item.remove(key).filter(|value| !value.is_null());
    if let Some(error) = take("error") {
        builder.result(id, Some(true), error);
        return;
    }
    match RESULTS.into_iter().find_map(take) {
        Some(output) => {
            let (is_error, output) = mcp_result(output);
            builder.result(id, Some(is_error.unwrap_or(has_failed)), output);
        }
        None if has_failed => builder.result(id, Some(true), Value::Null),
        None => {}
    }
}

/// How a response ended. One that ends in a call is complete, but the run is not.
pub(super) fn end(builder: &mut RunBuilder, response: &Response<'_>) {
    let reason = response.incomplete_details.as_ref();
    match response.status.or_empty() {
        "completed" if !builder.has_last_words() => {}
        "completed" | "cancelled" => builder.stop(response.status.as_deref()),
        "incomplete" => builder.stop(reason.and_then(|details| details.reason.as_deref())),
        "failed" if response.error.is_null() => {
            builder.whole().stop_reason = Some(StopReason::Error);
        }
        "failed" => builder.fail(&response.error),
        _ => {}
    }
}

fn remove(item: &mut Map<String, Value>, key: &str) -> Value {
    item.remove(key).unwrap_or_default()
}
