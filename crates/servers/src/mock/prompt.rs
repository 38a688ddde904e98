//! Prompts: which there are, and their messages.

use serde_json::{Map, Value, json};

use super::spec::{Item, text_of};
use crate::hosting::message::{INTERNAL_ERROR, INVALID_PARAMS, Refusal};

/// What `prompts/get` answers.
pub fn get(prompts: &[Item], params: &Map<String, Value>) -> Result<Value, Refusal> {
    let invalid = |message: String| Refusal::new(INVALID_PARAMS, message);
    let name = text_of(params, "name");
    let prompt = prompts
        .iter()
        .find(|prompt| text_of(&prompt.listed, "name") == name);
    let prompt = prompt.ok_or_else(|| invalid(format!("Unknown prompt: {name}")))?;
    let none = Map::new();
    let given = match params.get("arguments") {
        None => &none,
        Some(Value::Object(given)) => given,
        Some(_) => {
            return Err(invalid(
                "Invalid params: arguments must be an object".to_owned(),
            ));
        }
    };
    if let Some(missing) = required(prompt).find(|name| !given.contains_key(*name)) {
        return Err(invalid(format!("Missing required argument: {missing}")));
    }
    let messages = prompt.content.render(given);
    let messages =
        messages.ok_or_else(|| Refusal::new(INTERNAL_ERROR, "the prompt would be too large"))?;
    let mut result = json!({ "messages": messages });
    if let Some(words) = prompt.listed.get("description") {
        result["description"] = words.clone();
    }
    Ok(result)
}

fn required(prompt: &Item) -> impl Iterator<Item = &str> {
    let arguments = prompt.listed.get("arguments").and_then(Value::as_array);
    let required = arguments
        .into_iter()
        .flatten()
        .filter(|argument| argument.get("required").and_then(Value::as_bool) == Some(true));
    required.filter_map(|argument| argument.get("name").and_then(Value::as_str))
}
