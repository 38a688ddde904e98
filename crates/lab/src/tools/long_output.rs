//! Answers with many blocks of text.

use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use super::lorem::lorem;
use crate::call::{Call, Reply, text};
use crate::registry::{Entry, object, whole};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "long_output",
    group: "streaming",
    explanation: "Answers with many blocks of text after the structured one.",
    input: || {
        let properties = json!({
            "blocks": { "type": "integer", "minimum": 0, "description": "How many; more than 1000 is 1000", "default": BLOCKS_DEFAULT },
            "words": { "type": "integer", "minimum": 0, "description": "How many words each has; all together at most 1000000", "default": WORDS_DEFAULT },
        });
        object(&properties, &[])
    },
    output: Some(|| {
        whole(&json!({ "blocks": { "type": "integer" }, "chars": { "type": "integer" } }))
    }),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

const BLOCKS_DEFAULT: u64 = 10;
const BLOCKS_MAX: u64 = 1_000;
const WORDS_DEFAULT: u64 = 100;
/// The most words of all blocks together.
const WORDS_MAX: u64 = 1_000_000;

fn answer(call: Call<'_>) -> Reply {
    let count = call.capped("blocks", BLOCKS_DEFAULT, BLOCKS_MAX);
    let words = call.capped("words", WORDS_DEFAULT, WORDS_MAX / count.max(1));
    let texts: Vec<String> = (0..count)
        .map(|number| format!("{}: {}", number + 1, lorem(&number.to_string(), words)))
        .collect();
    let chars: usize = texts.iter().map(String::len).sum();
    let blocks: Vec<Value> = texts.iter().map(|block| text(block)).collect();
    Reply::Blocks {
        structured: json!({ "blocks": count, "chars": chars }),
        blocks,
        is_error: false,
    }
}
