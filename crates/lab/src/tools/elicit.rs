//! Has the client ask its user.

use mcprove_arguments::SchemaCheck;
use mcprove_servers::hosting::message::INVALID_PARAMS;
use mcprove_trace::protocol::Revision;
use serde_json::json;

use crate::ask::{Question, ask, bound};
use crate::call::{Call, Reply};
use crate::registry::{Entry, object};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "elicit",
    group: "asking",
    explanation: "Asks the client's user for input, and answers with what came of it.",
    input: || {
        let properties = json!({
            "message": { "type": "string", "description": "What the user is asked", "default": DEFAULT_MESSAGE },
            "schema": { "type": "object", "description": "The JSON Schema of the input; a text called name without it" },
        });
        object(&properties, &[])
    },
    output: None,
    since: Revision::V2025_06_18,
    answer: |call| Box::pin(answer(call)),
};

const DEFAULT_MESSAGE: &str = "What is your name?";
const KEY: &str = "elicit";

async fn answer(call: Call<'_>) -> Reply {
    let schema = call.argument("schema").cloned().unwrap_or_else(|| {
        json!({
            "type": "object",
            "properties": { "name": { "type": "string" } },
            "required": ["name"],
        })
    });
    if let Err(problem) = SchemaCheck::new(&schema) {
        let text = format!("Invalid params: schema: {problem}");
        return Reply::error(INVALID_PARAMS, text);
    }
    let question = Question::elicitation(KEY, call.text_or("message", DEFAULT_MESSAGE), &schema);
    match ask(call, &[question], Some(&bound(call, KEY))).await {
        Ok(mut answers) => {
            let answer = answers.remove(KEY).unwrap_or_default();
            let (action, content) = (answer.get("action"), answer.get("content"));
            Reply::Structured(json!({ "action": action, "content": content }))
        }
        Err(reply) => reply,
    }
}
