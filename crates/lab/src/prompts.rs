//! The prompts of the lab, which its catalogue declares.

use super::catalogue::{Prompt, text};
use super::resources::{listed as listed_resources, read_for};
use crate::prelude::*;

fn all(lab: &Lab) -> impl Iterator<Item = &'static Prompt> {
    let catalogues = lab.catalogues.iter();
    catalogues.flat_map(|catalogue| &catalogue.prompts)
}

/// The prompts that are listed.
pub fn listed(lab: &Lab) -> Vec<Value> {
    all(lab).map(|known| known.listed.clone()).collect()
}

/// The prompt that was asked for.
pub async fn get(call: Call<'_>) -> Result<Value, Reply> {
    let name = call.exchange.request.tool();
    let known = all(call.lab).find(|known| text(&known.listed, "name") == name);
    let known = known.ok_or_else(|| invalid(format!("Unknown prompt: {name}")))?;
    check(call.arguments, &known.listed)?;
    let mut values = known.defaults.clone();
    values.extend(call.arguments.clone());
    if let Some(uri) = values.get("uri").and_then(Value::as_str) {
        let resource = read_for(call.exchange, uri, call.lab).await;
        let resource = resource.ok_or_else(|| invalid(format!("Resource not found: {uri}")))?;
        values.insert("resource".to_owned(), resource);
    }
    // Only in this era may a prompt ask for anything.
    if call.exchange.revision.era() == Era::Stateless && !known.asks.is_empty() {
        values.extend(ask(call, &known.asks, None).await?);
    }
    let messages: Vec<Value> = known
        .messages
        .iter()
        .map(|block| json!({ "role": "user", "content": render(block, &values) }))
        .collect();
    Ok(json!({ "messages": messages }))
}

/// What is wrong with the arguments: each is a text, and those that must be given are.
fn check(given: &Map<String, Value>, prompt: &Value) -> Result<(), Refusal> {
    let arguments = prompt["arguments"].as_array().into_iter().flatten();
    let mut names = Vec::new();
    for argument in arguments {
        let name = text(argument, "name");
        if argument["required"] == true && !given.contains_key(name) {
            return Err(invalid(format!(
                "Invalid params: missing required argument {name:?}"
            )));
        }
        names.push(name);
    }
    for (name, value) in given {
        if !names.contains(&name.as_str()) {
            return Err(invalid(format!(
                "Invalid params: unknown argument {name:?}"
            )));
        }
        if !value.is_string() {
            return Err(invalid(format!(
                "Invalid params: argument {name:?} must be a string"
            )));
        }
    }
    Ok(())
}

/// What an argument of a prompt can be.
pub fn values(prompt: &str, argument: &str, lab: &Lab) -> Option<Vec<String>> {
    if (prompt, argument) == ("reading", "uri") {
        let listed = listed_resources(lab);
        let uris = listed.iter().map(|resource| text(resource, "uri"));
        return Some(uris.map(str::to_owned).collect());
    }
    let known = all(lab).find(|known| text(&known.listed, "name") == prompt)?;
    serde_json::from_value(known.values.get(argument)?.clone()).ok()
}
