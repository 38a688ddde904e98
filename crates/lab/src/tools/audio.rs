//! A sound, the shortest there is.

use mcprove_trace::protocol::Revision;
use serde_json::json;

use crate::call::Reply;
use crate::media;
use crate::registry::{Entry, nothing, whole};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "audio",
    group: "content",
    explanation: "Answers with a sound, ten milliseconds of silence as WAV.",
    input: nothing,
    output: Some(|| whole(&json!({ "mimeType": { "type": "string" } }))),
    since: Revision::V2025_03_26,
    answer: |_| Box::pin(async { answer() }),
};

fn answer() -> Reply {
    Reply::Blocks {
        structured: json!({ "mimeType": "audio/wav" }),
        blocks: vec![media::audio()],
        is_error: false,
    }
}
