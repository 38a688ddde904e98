//! A valid reply that says something else than the tool did.

use serde_json::Number;

use super::prelude::*;

#[derive(Settings)]
pub struct Corrupt;

#[async_trait]
impl Effect for Corrupt {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        reply::changed(call, |reply| reply::with_answer(call, &reply, corrupt)).await;
    }
}

fn corrupt(name: &str, answer: &mut Map<String, Value>) {
    // The code of an error tells what to do about it, so it stays.
    let altered: &[&str] = match name {
        "result" => &["structuredContent"],
        _ => &["message", "data"],
    };
    for (_, value) in answer
        .iter_mut()
        .filter(|(name, _)| altered.contains(&name.as_str()))
    {
        alter(value);
    }
    if name == "result" {
        let contents = answer.get_mut("content").and_then(Value::as_array_mut);
        for content in contents.into_iter().flatten() {
            corrupt_block(content);
            if let Some(resource) = content.get_mut("resource") {
                corrupt_block(resource);
            }
        }
    }
}

fn corrupt_block(block: &mut Value) {
    if let Some(text) = block.get_mut("text") {
        alter(text);
    }
    for name in ["data", "blob"] {
        if let Some(Value::String(base64)) = block.get_mut(name) {
            alter_base64(base64);
        }
    }
}

/// Another text that is Base64 too: all six bits of its first character count.
fn alter_base64(text: &mut String) {
    let first = if text.starts_with('A') { "B" } else { "A" };
    if text.starts_with(|character: char| character.is_ascii()) {
        text.replace_range(..1, first);
    }
}

/// Changes every value, and no type.
fn alter(value: &mut Value) {
    match value {
        Value::Null => {}
        Value::Bool(truth) => *truth = !*truth,
        Value::Number(number) => {
            let whole = number.as_i64().map(|whole| whole.wrapping_add(1).into());
            let broken = number
                .as_f64()
                .and_then(|broken| Number::from_f64(broken + 1.0));
            if let Some(other) = whole.or(broken) {
                *number = other;
            }
        }
        Value::String(text) => {
            let reversed: String = text.chars().rev().collect();
            *text = if reversed == *text {
                format!("{text}?")
            } else {
                reversed
            };
        }
        Value::Array(values) => values.iter_mut().for_each(alter),
        Value::Object(fields) => fields.values_mut().for_each(alter),
    }
}
