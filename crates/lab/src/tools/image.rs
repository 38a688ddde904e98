//! A picture, the smallest there is.

use mcprove_trace::protocol::Revision;
use serde_json::json;

use crate::call::Reply;
use crate::media;
use crate::registry::{Entry, nothing, whole};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "image",
    group: "content",
    explanation: "Answers with a picture, a red pixel as PNG.",
    input: nothing,
    output: Some(|| whole(&json!({ "mimeType": { "type": "string" } }))),
    since: Revision::V2024_11_05,
    answer: |_| Box::pin(async { answer() }),
};

fn answer() -> Reply {
    Reply::Blocks {
        structured: json!({ "mimeType": "image/png" }),
        blocks: vec![media::image()],
        is_error: false,
    }
}
