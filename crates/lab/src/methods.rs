//! Every method but those of tools: resources, prompts, completion, logging.

use super::catalogue::{self, Prompt};
use super::resources;
use crate::prelude::*;

/// The most values that a completion may have.
const COMPLETIONS_MAX: usize = 100;

/// What is answered, unless the method is another's.
pub async fn answer(lab: &Lab, exchange: &Exchange) -> Option<Answered> {
    let is_stateless = exchange.revision.era() == Era::Stateless;
    let params = &exchange.request.params;
    let list = |name: &str, items: &[Value]| {
        healthy::list(lab, name, items, &exchange.request, exchange.revision)
    };
    let result = match exchange.request.method.as_str() {
        "resources/list" => list("resources", &resources::listed(lab)),
        "resources/templates/list" => list("resourceTemplates", &resources::templates(lab)),
        "resources/read" => contents(lab, exchange).await,
        "prompts/list" => {
            let listed: Vec<_> = prompts(lab).map(|known| known.listed.clone()).collect();
            list("prompts", &listed)
        }
        "prompts/get" => {
            let none = Map::new();
            let given = params.get("arguments").and_then(Value::as_object);
            let call = Call {
                exchange,
                lab,
                arguments: given.unwrap_or(&none),
            };
            return Some(prompt(call).await);
        }
        "completion/complete" => complete(lab, params),
        "resources/subscribe" if !is_stateless => subscribe(lab, exchange),
        "resources/unsubscribe" if !is_stateless => text(params, "uri").map(|uri| {
            exchange.session.unsubscribe(uri);
            json!({})
        }),
        "logging/setLevel" if !is_stateless => set_level(exchange),
        _ => return None,
    };
    Some(result.map_err(Reply::Error))
}

/// A parameter that must be a text.
fn text<'a>(params: &'a Fields, name: &str) -> Result<&'a str, Refusal> {
    params
        .get(name)
        .and_then(Value::as_str)
        .ok_or_else(|| invalid(format!("Invalid params: {name} must be a string")))
}

async fn contents(lab: &Lab, exchange: &Exchange) -> Outcome {
    let uri = text(&exchange.request.params, "uri")?;
    let contents = resources::read_for(exchange, uri, lab).await;
    let contents = contents.ok_or_else(|| Refusal::no_resource(uri, exchange.revision))?;
    let mut result = healthy::cacheable(json!({ "contents": [contents] }), exchange.revision);
    if exchange.revision.era() == Era::Stateless && uri == resources::AUDIT_URI {
        // Another one a moment later, and for another caller.
        result["ttlMs"] = 0.into();
        result["cacheScope"] = "private".into();
    }
    Ok(result)
}

fn subscribe(lab: &Lab, exchange: &Exchange) -> Outcome {
    let uri = text(&exchange.request.params, "uri")?;
    if !resources::exists(uri, lab) {
        return Err(Refusal::no_resource(uri, exchange.revision));
    }
    exchange
        .subscribe(uri)
        .then(|| json!({}))
        .ok_or_else(|| invalid("too many subscriptions; unsubscribe from some"))
}

fn set_level(exchange: &Exchange) -> Outcome {
    let level = text(&exchange.request.params, "level")?;
    let known = LogLevel::of(&level.into());
    exchange.set_log_level(known.ok_or_else(|| invalid(format!("unknown log level {level:?}")))?);
    Ok(json!({}))
}

fn complete(lab: &Lab, params: &Fields) -> Outcome {
    let reference = params.get("ref").and_then(Value::as_object);
    let argument = params.get("argument").and_then(Value::as_object);
    let (Some(reference), Some(argument)) = (reference, argument) else {
        return Err(invalid("Invalid params: ref and argument must be objects"));
    };
    let (name, typed) = (text(argument, "name")?, text(argument, "value")?);
    let known = match text(reference, "type")? {
        "ref/prompt" => prompt_values(text(reference, "name")?, name, lab),
        "ref/resource" => resources::values(text(reference, "uri")?, name, lab),
        other => {
            let text = format!("Invalid params: unknown ref type {other:?}");
            return Err(invalid(text));
        }
    };
    let nothing = || invalid("Invalid params: ref names nothing that is here");
    let mut values = known.ok_or_else(nothing)?;
    values.retain(|value| value.starts_with(typed));
    let total = values.len();
    values.truncate(COMPLETIONS_MAX);
    let has_more = total > COMPLETIONS_MAX;
    Ok(json!({ "completion": { "values": values, "total": total, "hasMore": has_more } }))
}

fn prompts(lab: &Lab) -> impl Iterator<Item = &'static Prompt> {
    lab.declared(|catalogue| &catalogue.prompts)
}

/// The prompt that was asked for.
async fn prompt(call: Call<'_>) -> Answered {
    let name = call.exchange.request.tool();
    let known = prompts(call.lab).find(|known| catalogue::text(&known.listed, "name") == name);
    let known = known.ok_or_else(|| invalid(format!("Unknown prompt: {name}")))?;
    check_prompt(call.arguments, &known.listed)?;
    let mut values = known.defaults.clone();
    values.extend(call.arguments.clone());
    if let Some(uri) = values.get("uri").and_then(Value::as_str) {
        let resource = resources::read_for(call.exchange, uri, call.lab).await;
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
fn check_prompt(given: &Fields, prompt: &Value) -> Result<(), Refusal> {
    let arguments = prompt["arguments"].as_array().into_iter().flatten();
    let mut names = Vec::new();
    for argument in arguments {
        let name = catalogue::text(argument, "name");
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
fn prompt_values(prompt: &str, argument: &str, lab: &Lab) -> Option<Vec<String>> {
    if (prompt, argument) == ("reading", "uri") {
        let listed = resources::listed(lab);
        let uris = listed
            .iter()
            .map(|resource| catalogue::text(resource, "uri"));
        return Some(uris.map(str::to_owned).collect());
    }
    let known = prompts(lab).find(|known| catalogue::text(&known.listed, "name") == prompt)?;
    known.values.get(argument).cloned()
}
