//! A resource inside a result, and a link to one.

use mcprove_servers::hosting::message::INVALID_PARAMS;
use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::call::{Call, Reply};
use crate::registry::{Entry, object, whole};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "resource",
    group: "content",
    explanation: "Answers with one of the lab's resources, and from 2025-06-18 on with a link to it.",
    input: || {
        let properties = json!({
            "uri": { "type": "string", "description": "Which", "default": DEFAULT_URI },
        });
        object(&properties, &[])
    },
    output: Some(|| whole(&json!({ "uri": { "type": "string" } }))),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(answer(call)),
};

const DEFAULT_URI: &str = "lab://readme";

async fn answer(call: Call<'_>) -> Reply {
    let uri = call.text_or("uri", DEFAULT_URI);
    let Some(contents) = call.lab.contents(uri, call.exchange).await else {
        return Reply::error(INVALID_PARAMS, format!("Resource not found: {uri}"));
    };
    let mut blocks = vec![json!({ "type": "resource", "resource": contents })];
    if call.exchange.revision >= Revision::V2025_06_18 {
        let kind = contents.get("mimeType").cloned().unwrap_or(Value::Null);
        blocks.push(json!({ "type": "resource_link", "uri": uri, "name": uri, "mimeType": kind }));
    }
    Reply::Blocks {
        structured: json!({ "uri": uri }),
        blocks,
        is_error: false,
    }
}
