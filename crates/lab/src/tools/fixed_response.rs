//! Answers the same to the same key, on every machine and every day.

use std::fmt::Write as _;

use mcprove_trace::protocol::Revision;
use serde_json::json;

use crate::call::{Call, Reply};
use crate::registry::{Entry, object, whole};
use crate::roll::Roll;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "fixed_response",
    group: "data",
    explanation: "Answers with a body that its key alone decides: for caches and comparisons.",
    input: || {
        let properties = json!({
            "key": { "type": "string", "description": "Decides the body", "default": DEFAULT_KEY },
        });
        object(&properties, &[])
    },
    output: Some(|| whole(&json!({ "key": { "type": "string" }, "body": { "type": "string" } }))),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

const DEFAULT_KEY: &str = "default";
/// How many numbers the body is made of.
const BODY_NUMBERS: usize = 4;

fn answer(call: Call<'_>) -> Reply {
    let key = call.text_or("key", DEFAULT_KEY);
    Reply::Structured(json!({ "key": key, "body": body(key) }))
}

fn body(key: &str) -> String {
    let mut roll = Roll::of(key, 0);
    (0..BODY_NUMBERS).fold(String::new(), |mut body, _| {
        // Writing to a text cannot fail.
        let _ = write!(body, "{:016x}", roll.next());
        body
    })
}
