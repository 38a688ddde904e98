//! Asking the client in the middle of a call.

use crate::ask::bound;
use crate::call::text;
use crate::prelude::*;

/// Has the client sample a message from its model.
pub async fn sample(call: Call<'_>) -> Answered {
    let params = json!({
        "messages": [{ "role": "user", "content": text(call.text("prompt")) }],
        "maxTokens": call.count("max_tokens", 1_000_000),
    });
    let message = ask_one(call, "sampling/createMessage", params).await?;
    let text = message.pointer("/content/text").and_then(Value::as_str);
    Ok(json!({ "text": text, "message": message }))
}

/// Has the client ask its user.
pub async fn elicit(call: Call<'_>) -> Answered {
    let name = || json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    let schema = call.arguments.get("schema").cloned();
    let schema = schema.unwrap_or_else(name);
    SchemaCheck::new(&schema)
        .map_err(|problem| invalid(format!("Invalid params: schema: {problem}")))?;
    let params = json!({ "message": call.text("message"), "requestedSchema": schema });
    let answer = ask_one(call, "elicitation/create", params).await?;
    Ok(json!({ "action": answer.get("action"), "content": answer.get("content") }))
}

/// Has the client tell its roots.
pub async fn roots(call: Call<'_>) -> Answered {
    let answer = ask_one(call, "roots/list", json!({})).await?;
    Ok(json!({ "roots": answer.get("roots") }))
}

/// Asks one thing, under the name of the tool.
async fn ask_one(call: Call<'_>, method: &str, params: Value) -> Answered {
    let key = call.exchange.request.tool();
    let question = Question {
        key: key.to_owned(),
        method: method.to_owned(),
        params,
    };
    let mut answers = ask(call, &[question], Some(&bound(call, key))).await?;
    Ok(answers.remove(key).unwrap_or_default())
}
