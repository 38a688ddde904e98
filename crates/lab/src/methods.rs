//! Every method but those of tools: resources, prompts, completion, logging.

use super::{prompts, resources};
use crate::prelude::*;

/// The code of a resource that is not there, in the handshake era.
const RESOURCE_NOT_FOUND: i64 = -32_002;
/// The most values that a completion may have.
const COMPLETIONS_MAX: usize = 100;

/// What is answered, unless the method is another's.
pub async fn answer(lab: &Lab, exchange: &Exchange) -> Option<Result<Value, Reply>> {
    let is_stateless = exchange.revision.era() == Era::Stateless;
    let params = &exchange.request.params;
    let list = |name: &str, items: &[Value]| {
        healthy::list(lab, name, items, &exchange.request, exchange.revision)
    };
    let result = match exchange.request.method.as_str() {
        "resources/list" => list("resources", &resources::listed(lab)),
        "resources/templates/list" => list("resourceTemplates", &resources::templates(lab)),
        "resources/read" => contents(lab, exchange).await,
        "prompts/list" => list("prompts", &prompts::listed(lab)),
        "prompts/get" => {
            let none = Map::new();
            let given = params.get("arguments").and_then(Value::as_object);
            let call = Call {
                exchange,
                lab,
                arguments: given.unwrap_or(&none),
            };
            return Some(prompts::get(call).await);
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
fn text<'a>(params: &'a Map<String, Value>, name: &str) -> Result<&'a str, Refusal> {
    let text = params.get(name).and_then(Value::as_str);
    text.ok_or_else(|| invalid(format!("Invalid params: {name} must be a string")))
}

async fn contents(lab: &Lab, exchange: &Exchange) -> Result<Value, Refusal> {
    let uri = text(&exchange.request.params, "uri")?;
    let contents = resources::read_for(exchange, uri, lab).await;
    let contents = contents.ok_or_else(|| not_found(uri, exchange))?;
    let mut result = healthy::cacheable(json!({ "contents": [contents] }), exchange.revision);
    if exchange.revision.era() == Era::Stateless && uri == resources::AUDIT_URI {
        // Another one a moment later, and for another caller.
        result["ttlMs"] = 0.into();
        result["cacheScope"] = "private".into();
    }
    Ok(result)
}

fn not_found(uri: &str, exchange: &Exchange) -> Refusal {
    let code = match exchange.revision.era() {
        Era::Handshake => RESOURCE_NOT_FOUND,
        Era::Stateless => INVALID_PARAMS,
    };
    Refusal {
        code,
        message: format!("Resource not found: {uri}"),
        data: Some(json!({ "uri": uri })),
    }
}

fn subscribe(lab: &Lab, exchange: &Exchange) -> Result<Value, Refusal> {
    let uri = text(&exchange.request.params, "uri")?;
    if !resources::exists(uri, lab) {
        return Err(not_found(uri, exchange));
    }
    let is_kept = exchange.subscribe(uri).then(|| json!({}));
    is_kept.ok_or_else(|| invalid("too many subscriptions; unsubscribe from some"))
}

fn set_level(exchange: &Exchange) -> Result<Value, Refusal> {
    let level = text(&exchange.request.params, "level")?;
    let known = LogLevel::of(&level.into());
    exchange.set_log_level(known.ok_or_else(|| invalid(format!("unknown log level {level:?}")))?);
    Ok(json!({}))
}

fn complete(lab: &Lab, params: &Map<String, Value>) -> Result<Value, Refusal> {
    let reference = params.get("ref").and_then(Value::as_object);
    let argument = params.get("argument").and_then(Value::as_object);
    let (Some(reference), Some(argument)) = (reference, argument) else {
        return Err(invalid("Invalid params: ref and argument must be objects"));
    };
    let (name, typed) = (text(argument, "name")?, text(argument, "value")?);
    let known = match text(reference, "type")? {
        "ref/prompt" => prompts::values(text(reference, "name")?, name, lab),
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
