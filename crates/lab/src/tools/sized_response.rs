//! Answers with as many characters as it is told.

use mcprove_trace::protocol::Revision;
use serde_json::json;

use crate::call::{Call, Reply};
use crate::registry::{Entry, object, whole};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "sized_response",
    group: "data",
    explanation: "Answers with a body of exactly the given size: at most 8388608 characters.",
    input: || {
        let properties = json!({
            "size": { "type": "integer", "minimum": 0, "description": "How many characters; more than 8388608 is 8388608" },
        });
        object(&properties, &["size"])
    },
    output: Some(|| whole(&json!({ "size": { "type": "integer" }, "body": { "type": "string" } }))),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

/// The largest body. It is in the result twice, as every structured content.
const SIZE_MAX: u64 = 8 * 1024 * 1024;
/// What the body repeats.
const PATTERN: &str = "0123456789abcdef";

fn answer(call: Call<'_>) -> Reply {
    let size = call.capped("size", 0, SIZE_MAX);
    let body: String = PATTERN
        .chars()
        .cycle()
        .take(usize::try_from(size).unwrap_or_default())
        .collect();
    Reply::Structured(json!({ "size": size, "body": body }))
}
