//! Gives back what it was given.

use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::call::{Call, Reply};
use crate::registry::{Entry, object};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "echo",
    group: "identity",
    explanation: "Answers with the message, and the data if there is any, that it was given.",
    input: || {
        let properties = json!({
            "message": { "type": "string", "description": "Any text" },
            "data": { "description": "Any JSON" },
        });
        object(&properties, &["message"])
    },
    output: Some(|| {
        let properties = json!({ "message": { "type": "string" }, "data": {} });
        object(&properties, &["message"])
    }),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

fn answer(call: Call<'_>) -> Reply {
    Reply::Structured(Value::Object(call.arguments()))
}
