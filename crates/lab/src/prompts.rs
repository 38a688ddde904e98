//! The prompts of the lab: one without arguments, one with, one with a picture, one with a resource.

use mcprove_servers::hosting::message::INVALID_PARAMS;
use serde_json::{Value, json};

use super::behaviour::Lab;
use super::call::{Call, Reply, text};
use super::{conformance, media};

/// How the greeting can sound.
const STYLES: [&str; 3] = ["formal", "friendly", "terse"];

/// The prompts that are listed.
pub fn listed(with_fixtures: bool) -> Vec<Value> {
    let greeting = [
        ("name", "Who is greeted", true),
        ("style", "formal, friendly or terse", false),
    ];
    let mut listed = vec![
        prompt("plain", "A prompt without arguments.", &[]),
        prompt("greeting", "Greets somebody, in some style.", &greeting),
        prompt("picture", "A prompt with a picture.", &[]),
        prompt(
            "reading",
            "A prompt with a resource.",
            &[("uri", "Which resource", false)],
        ),
    ];
    if with_fixtures {
        listed.extend(conformance::prompts::listed());
    }
    listed
}

/// A prompt as it is listed; an argument is its name, what it is, and whether it must be given.
pub fn prompt(name: &str, description: &str, arguments: &[(&str, &str, bool)]) -> Value {
    let arguments: Vec<Value> = arguments
        .iter()
        .map(|(name, description, is_required)| {
            json!({ "name": name, "description": description, "required": is_required })
        })
        .collect();
    json!({ "name": name, "description": description, "arguments": arguments })
}

/// The prompt that was asked for.
pub async fn get(call: Call<'_>) -> Reply {
    let name = call.exchange.request.tool();
    let listed = listed(call.lab.has_fixtures);
    let known = listed.iter().find(|prompt| name_of(prompt) == Some(name));
    let Some(known) = known else {
        return Reply::error(INVALID_PARAMS, format!("Unknown prompt: {name}"));
    };
    if let Some(problem) = problem(call, known) {
        return Reply::error(INVALID_PARAMS, problem);
    }
    match name {
        "plain" => messages(&[text("Say something.")]),
        "greeting" => {
            let (whom, style) = (call.text_or("name", ""), call.text_or("style", "friendly"));
            messages(&[text(&format!("Greet {whom} in a {style} way."))])
        }
        "picture" => messages(&[media::image(), text("What is in the picture?")]),
        "reading" => reading(call).await,
        _ => conformance::prompts::get(call, name).await,
    }
}

fn name_of(named: &Value) -> Option<&str> {
    named.get("name").and_then(Value::as_str)
}

async fn reading(call: Call<'_>) -> Reply {
    let uri = call.text_or("uri", "lab://readme");
    match call.lab.contents(uri, call.exchange).await {
        None => Reply::error(INVALID_PARAMS, format!("Resource not found: {uri}")),
        Some(resource) => messages(&[
            json!({ "type": "resource", "resource": resource }),
            text("What does it say?"),
        ]),
    }
}

/// What is wrong with the arguments: each is a text, and those that must be given are.
fn problem(call: Call<'_>, prompt: &Value) -> Option<String> {
    let given = call.arguments();
    let arguments = prompt.get("arguments").and_then(Value::as_array);
    let arguments: Vec<&Value> = arguments.into_iter().flatten().collect();
    let missing = arguments
        .iter()
        .filter(|argument| argument.get("required") == Some(&Value::Bool(true)))
        .filter_map(|argument| name_of(argument))
        .find(|name| !given.contains_key(*name));
    if let Some(name) = missing {
        return Some(format!(
            "Invalid params: missing required argument {name:?}"
        ));
    }
    given.iter().find_map(|(name, value)| {
        let is_known = arguments
            .iter()
            .any(|argument| name_of(argument) == Some(name.as_str()));
        match (is_known, value.is_string()) {
            (false, _) => Some(format!("Invalid params: unknown argument {name:?}")),
            (true, false) => Some(format!(
                "Invalid params: argument {name:?} must be a string"
            )),
            (true, true) => None,
        }
    })
}

/// A prompt of messages of the user.
pub fn messages(blocks: &[Value]) -> Reply {
    let messages: Vec<Value> = blocks
        .iter()
        .map(|block| json!({ "role": "user", "content": block }))
        .collect();
    Reply::Whole(json!({ "messages": messages }))
}

/// What an argument of a prompt can be.
pub fn values(prompt: &str, argument: &str, lab: &Lab) -> Option<Vec<String>> {
    match (prompt, argument) {
        ("greeting", "style") => Some(STYLES.map(str::to_owned).to_vec()),
        ("greeting", "name") => Some(Vec::new()),
        ("reading", "uri") => {
            let listed = lab.resources();
            let uris = listed
                .iter()
                .filter_map(|resource| resource.get("uri")?.as_str());
            Some(uris.map(str::to_owned).collect())
        }
        _ if lab.has_fixtures => conformance::prompts::values(prompt, argument),
        _ => None,
    }
}
