//! Shows the headers that reached the server, without their secrets.

use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::audit::redact_headers;
use crate::call::{Call, Reply};
use crate::registry::{Entry, nothing, whole};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "headers",
    group: "identity",
    explanation: "Shows the HTTP headers of the request, with secrets redacted; there are none over stdio.",
    input: nothing,
    output: Some(|| whole(&json!({ "headers": { "type": "object" } }))),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

fn answer(call: Call<'_>) -> Reply {
    let headers = &call.exchange.caller().headers;
    let texts = headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let shown: Value = serde_json::from_str(&redact_headers(texts)).unwrap_or_default();
    Reply::Structured(json!({ "headers": shown }))
}
