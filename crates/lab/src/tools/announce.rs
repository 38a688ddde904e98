//! Tells all clients that something changed.

use mcprove_servers::hosting::Change;
use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::call::{Call, Reply};
use crate::registry::{Entry, object, whole};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "announce",
    group: "streaming",
    explanation: "Tells every client that wants to know that a list changed or a resource was updated.",
    input: || {
        let properties = json!({
            "what": { "type": "string", "enum": ["tools", "prompts", "resources", "resource"], "description": "A list, or one resource" },
            "uri": { "type": "string", "maxLength": URI_CHARS_MAX, "description": "The resource", "default": DEFAULT_URI },
        });
        object(&properties, &["what"])
    },
    output: Some(|| whole(&json!({ "announced": { "type": "string" } }))),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

/// Changes are kept for clients that are behind, so they are short.
const URI_CHARS_MAX: usize = 1_024;
const DEFAULT_URI: &str = "lab://numbers/1";

fn answer(call: Call<'_>) -> Reply {
    let what = call
        .argument("what")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let change = match what {
        "tools" => Change::Tools,
        "prompts" => Change::Prompts,
        "resources" => Change::Resources,
        _ => Change::Resource(call.text_or("uri", DEFAULT_URI).to_owned()),
    };
    call.exchange.host().publish(change);
    Reply::Structured(json!({ "announced": what }))
}
