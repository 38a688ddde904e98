//! A valid reply that says something else than the tool did.

use mcprove_trace::BoxFuture;
use serde_json::{Map, Number, Value};

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;
use crate::reply::Answer;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "corrupt",
    explanation: "a valid reply with altered content",
    settings: &[],
    build: |_| Box::new(Corrupt),
};

struct Corrupt;

impl Effect for Corrupt {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(reply) = call.execute().await {
                call.reply(reply::with_answer(call, &reply, corrupt)).await;
            }
        })
    }
}

fn corrupt(answer: Answer<'_>) {
    match answer {
        Answer::Result(result) => corrupt_result(result),
        // Its code tells what to do about it, so it stays.
        Answer::Error(error) => {
            for name in ["message", "data"] {
                if let Some(value) = error.get_mut(name) {
                    alter(value);
                }
            }
        }
    }
}

fn corrupt_result(result: &mut Map<String, Value>) {
    let contents = result.get_mut("content").and_then(Value::as_array_mut);
    for content in contents.into_iter().flatten() {
        corrupt_block(content);
        if let Some(resource) = content.get_mut("resource") {
            corrupt_block(resource);
        }
    }
    if let Some(structured) = result.get_mut("structuredContent") {
        alter(structured);
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
