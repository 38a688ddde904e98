//! Reads items of the `OpenAI` Responses API. Items that follow each other without a result or a
//! word of the user between them are one reply.

use super::openai::{Response, say_content};
use crate::prelude::*;

/// An item. The keys are those of all its types.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Item {
    #[serde(rename = "type")]
    kind: Text,
    role: Text,
    content: Value,
    id: Text,
    call_id: Text,
    status: Text,
    name: Text,
    server_label: Text,
    action: Option<Value>,
    arguments: Option<Value>,
    input: Option<Value>,
    error: Option<Value>,
    output: Option<Value>,
    outputs: Option<Value>,
    result: Option<Value>,
    results: Option<Value>,
    /// What a tool of `OpenAI` was to do, and [other things](NO_ARGUMENTS).
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// What an item of a tool of `OpenAI` has besides the arguments of the call.
const NO_ARGUMENTS: [&str; 4] = [
    "container_id",
    "pending_safety_checks",
    "approval_request_id",
    "created_by",
];

/// Adds one item. Types that are neither said nor called (reasoning, lists of tools, approvals)
/// are left out.
pub fn add_item(builder: &mut RunBuilder, mut item: Item) -> Result {
    let kind = item.kind.0.take().unwrap_or_default();
    let has_failed = item.status.or_empty() == "failed";
    if kind == "message" {
        match known_role(item.role.as_deref().unwrap_or("assistant"))? {
            "assistant" => builder.open_or_resume_agent(),
            role => builder.open(role),
        }
        return say_content(builder, &item.content);
    }
    if kind.ends_with("_call_output") {
        let (told, output) = mcp_result(item.output.unwrap_or_default());
        builder.open("tool");
        let is_error = told.or(has_failed.then_some(true));
        builder.result(item.call_id.or_empty(), is_error, output);
        return Ok(());
    }
    // `function_call`, `mcp_call`, `custom_tool_call`, and tools of OpenAI: `web_search_call`.
    let Some(own_name) = kind.strip_suffix("_call") else {
        return Ok(());
    };
    let is_named = matches!(
        kind.as_str(),
        "function_call" | "mcp_call" | "custom_tool_call"
    );
    let name = match item.name.0.take() {
        Some(name) => name,
        None if is_named => {
            return refuse(
                sentence!("the `{kind}` item has no `name`"),
                "a call names its tool",
            );
        }
        None => own_name.to_owned(),
    };
    let args = match kind.as_str() {
        "function_call" | "mcp_call" => {
            let arguments = item.arguments.take().unwrap_or_default();
            builder.arguments(&name, arguments)
        }
        // A text, which stays one whatever it looks like.
        "custom_tool_call" => arguments(item.input.take().unwrap_or_default()),
        _ => own_arguments(&mut item),
    };
    let id = item.call_id.as_deref().unwrap_or(item.id.or_empty());
    builder.open_or_resume_agent();
    builder.call(id, tool_call(&name, item.server_label.as_deref(), args));
    if item.status.or_empty() == "incomplete" {
        builder.unfinished.push(&name);
    }
    // A call that `OpenAI` made itself has its result with it.
    let output = item.output.or(item.outputs).or(item.result);
    match (item.error, output.or(item.results)) {
        (Some(error), _) => builder.result(id, Some(true), error),
        (None, Some(output)) => {
            let (is_error, output) = mcp_result(output);
            builder.result(id, Some(is_error.unwrap_or(has_failed)), output);
        }
        (None, None) if has_failed => builder.result(id, Some(true), Value::Null),
        (None, None) => {}
    }
    Ok(())
}

/// The arguments of a tool of `OpenAI`: what it is to do, or what else its item has. One that has
/// nothing else does not tell them.
fn own_arguments(item: &mut Item) -> Json {
    let whole = item.action.take().or_else(|| item.arguments.take());
    if let Some(whole) = whole.or_else(|| item.input.take()) {
        return whole.into();
    }
    let mut others = std::mem::take(&mut item.others);
    others.retain(|key, value| !NO_ARGUMENTS.contains(&key.as_str()) && !value.is_null());
    if others.is_empty() {
        return Json::default();
    }
    Value::Object(others).into()
}

/// How a response ended. One that ends in a call is complete, but the run is not.
pub fn end(builder: &mut RunBuilder, response: &Response<'_>) {
    let reason = response.incomplete_details.as_ref();
    match response.status.or_empty() {
        "completed" if !builder.has_last_words() => {}
        "completed" | "cancelled" => builder.stop(response.status.as_deref()),
        "incomplete" => builder.stop(reason.and_then(|details| details.reason.as_deref())),
        "failed" if response.error.is_null() => {
            builder.whole.stop_reason = Some(StopReason::Error);
        }
        "failed" => builder.fail(&response.error),
        _ => {}
    }
}
