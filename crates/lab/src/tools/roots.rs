//! Has the client tell its roots.

use mcprove_trace::protocol::Revision;
use serde_json::json;

use crate::ask::{Question, ask, bound};
use crate::call::{Call, Reply};
use crate::registry::{Entry, nothing};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "roots",
    group: "asking",
    explanation: "Asks the client for its roots, and answers with them.",
    input: nothing,
    output: None,
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(answer(call)),
};

const KEY: &str = "roots";

async fn answer(call: Call<'_>) -> Reply {
    match ask(call, &[Question::roots(KEY)], Some(&bound(call, KEY))).await {
        Ok(mut answers) => {
            let answer = answers.remove(KEY).unwrap_or_default();
            Reply::Structured(json!({ "roots": answer.get("roots") }))
        }
        Err(reply) => reply,
    }
}
