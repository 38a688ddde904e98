//! Prompts: which there are, and their messages.

use crate::prelude::*;

/// What `prompts/get` answers.
pub fn get(prompts: &[Item], request: &Request) -> Result<Value, Refusal> {
    let name = request.tool();
    let prompt = prompts
        .iter()
        .find(|prompt| text_of(&prompt.listed, "name") == name);
    let prompt = prompt.ok_or_else(|| Refusal::invalid(format!("Unknown prompt: {name}")))?;
    let given = request.arguments()?;
    if let Some(missing) = required(prompt).find(|name| !given.contains_key(*name)) {
        return Err(Refusal::invalid(format!(
            "Missing required argument: {missing}"
        )));
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
