//! Has the client sample a message from its model.

use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::ask::{Question, ask, bound};
use crate::call::{Call, Reply};
use crate::registry::{Entry, object};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "sample",
    group: "asking",
    explanation: "Asks the client to sample a message from its model, and answers with it.",
    input: || {
        let properties = json!({
            "prompt": { "type": "string", "description": "What the model is asked" },
            "max_tokens": { "type": "integer", "minimum": 1, "description": "The longest answer", "default": TOKENS_DEFAULT },
        });
        object(&properties, &["prompt"])
    },
    output: None,
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(answer(call)),
};

const TOKENS_DEFAULT: u64 = 100;
const TOKENS_MAX: u64 = 1_000_000;
const KEY: &str = "sample";

async fn answer(call: Call<'_>) -> Reply {
    let tokens = call.capped("max_tokens", TOKENS_DEFAULT, TOKENS_MAX);
    let question = Question::sampling(KEY, call.text_or("prompt", ""), tokens);
    match ask(call, &[question], Some(&bound(call, KEY))).await {
        Ok(mut answers) => {
            let message = answers.remove(KEY).unwrap_or_default();
            let text = message.pointer("/content/text").and_then(Value::as_str);
            Reply::Structured(json!({ "text": text, "message": message }))
        }
        Err(reply) => reply,
    }
}
