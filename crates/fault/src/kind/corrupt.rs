//! The reply is valid, and says something else than the tool did.

use crate::prelude::*;
use serde_json::Number;

#[derive(Settings)]
pub struct Corrupt;

#[async_trait]
impl Effect for Corrupt {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        let corrupted = |it| exchange.with_answer(&it, corrupt);
        exchange.changed(corrupted).await;
    }
}

/// A valid answer that says something else than the tool did.
fn corrupt(name: &str, answer: &mut Map<String, Value>) {
    // The code of an error tells what to do about it, so it stays.
    let altered: &[&str] = match name {
        "result" => &["structuredContent"],
        _ => &["message", "data"],
    };
    for name in altered {
        answer.get_mut(*name).map(alter);
    }
    if name == "result" {
        let contents = answer.get_mut("content").and_then(Value::as_array_mut);
        for content in contents.into_iter().flatten() {
            corrupt_block(content);
            content.get_mut("resource").map(corrupt_block);
        }
    }
}

fn corrupt_block(block: &mut Value) {
    block.get_mut("text").map(alter);
    for name in ["data", "blob"] {
        // Another text that is Base64 too: all six bits of its first character count.
        if let Some(Value::String(base64)) = block.get_mut(name)
            && base64.starts_with(|character: char| character.is_ascii())
        {
            let first = if base64.starts_with('A') { "B" } else { "A" };
            base64.replace_range(..1, first);
        }
    }
}

/// Changes every value, and no type.
fn alter(value: &mut Value) {
    match value {
        Value::Null => {}
        Value::Bool(truth) => *truth = !*truth,
        Value::Number(number) => {
            let whole = number.as_i64().map(|whole| whole.wrapping_add(1).into());
            let broken = || Number::from_f64(number.as_f64()? + 1.0);
            if let Some(other) = whole.or_else(broken) {
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
