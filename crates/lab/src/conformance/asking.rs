//! Tools that ask the client in the middle of a call.

use mcprove_trace::protocol::Revision;
use serde_json::{Map, Value, json};

use crate::ask::{Question, ask};
use crate::call::{Call, Reply, content, text};
use crate::registry::{Entry, nothing, object};

/// A message from the client's model.
pub const SAMPLING: Entry = Entry {
    name: "test_sampling",
    group: "conformance",
    explanation: "Has the client sample a message.",
    input: || object(&json!({ "prompt": { "type": "string" } }), &["prompt"]),
    output: None,
    since: Revision::V2024_11_05,
    answer: |call| {
        Box::pin(async move {
            let question = Question::sampling("sample", call.text_or("prompt", ""), 100);
            let answers = match ask(call, &[question], Some("test_sampling")).await {
                Ok(answers) => answers,
                Err(reply) => return reply,
            };
            let answer = answers
                .get("sample")
                .and_then(|sample| sample.pointer("/content/text"));
            let answer = answer.and_then(Value::as_str).unwrap_or_default();
            content(&[text(&format!("LLM response: {answer}"))])
        })
    },
};

/// Input of the client's user.
pub const ELICITATION: Entry = Entry {
    name: "test_elicitation",
    group: "conformance",
    explanation: "Has the client ask its user.",
    input: || object(&json!({ "message": { "type": "string" } }), &["message"]),
    output: None,
    since: Revision::V2025_06_18,
    answer: |call| {
        Box::pin(async move {
            let schema = json!({
                "type": "object",
                "properties": {
                    "username": { "type": "string", "description": "User's response" },
                    "email": { "type": "string", "description": "User's email address" },
                },
                "required": ["username", "email"],
            });
            elicit(call, call.text_or("message", ""), &schema, "User response").await
        })
    },
};

/// Input that has defaults.
pub const DEFAULTS: Entry = Entry {
    name: "test_elicitation_sep1034_defaults",
    group: "conformance",
    explanation: "Has the client ask its user for fields with defaults.",
    input: nothing,
    output: None,
    since: Revision::V2025_06_18,
    answer: |call| {
        Box::pin(async move {
            let schema = json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string", "default": "John Doe" },
                    "age": { "type": "integer", "default": 30 },
                    "score": { "type": "number", "default": 95.5 },
                    "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
                    "verified": { "type": "boolean", "default": true },
                },
            });
            elicit(
                call,
                "Please review these fields",
                &schema,
                "Elicitation completed",
            )
            .await
        })
    },
};

/// Input chosen from lists.
pub const ENUMS: Entry = Entry {
    name: "test_elicitation_sep1330_enums",
    group: "conformance",
    explanation: "Has the client ask its user to choose, in all five ways.",
    input: nothing,
    output: None,
    since: Revision::V2025_06_18,
    answer: |call| {
        Box::pin(async move {
            let titled = |values: [(&str, &str); 3]| -> Vec<Value> {
                values
                    .iter()
                    .map(|(value, title)| json!({ "const": value, "title": title }))
                    .collect()
            };
            let options = ["option1", "option2", "option3"];
            let schema = json!({
                "type": "object",
                "properties": {
                    "untitledSingle": { "type": "string", "enum": options },
                    "titledSingle": {
                        "type": "string",
                        "oneOf": titled([("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")]),
                    },
                    "legacyEnum": {
                        "type": "string",
                        "enum": ["opt1", "opt2", "opt3"],
                        "enumNames": ["Option One", "Option Two", "Option Three"],
                    },
                    "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
                    "titledMulti": {
                        "type": "array",
                        "items": { "anyOf": titled([("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice")]) },
                    },
                },
            });
            elicit(call, "Please choose", &schema, "Elicitation completed").await
        })
    },
};

async fn elicit(call: Call<'_>, message: &str, schema: &Value, said: &str) -> Reply {
    let question = Question::elicitation("input", message, schema);
    let answers = match ask(call, &[question], Some(call.exchange.request.tool())).await {
        Ok(answers) => answers,
        Err(reply) => return reply,
    };
    content(&[text(&format!("{said}: {}", described(&answers)))])
}

fn described(answers: &Map<String, Value>) -> String {
    let answer = answers.get("input");
    let action = answer.and_then(|answer| answer.get("action")?.as_str());
    let none = json!({});
    let content = answer.and_then(|answer| answer.get("content"));
    format!(
        "action={}, content={}",
        action.unwrap_or("none"),
        content.unwrap_or(&none)
    )
}

/// Something that a client without sampling cannot get.
pub const MISSING_CAPABILITY: Entry = Entry {
    name: "test_missing_capability",
    group: "conformance",
    explanation: "Needs a client that can sample.",
    input: nothing,
    output: None,
    since: Revision::V2024_11_05,
    answer: |call| {
        Box::pin(async move {
            let question = Question::sampling("sample", "Say something.", 100);
            match ask(call, &[question], Some("test_missing_capability")).await {
                Ok(_) => content(&[text("The client can sample.")]),
                Err(reply) => reply,
            }
        })
    },
};

/// Input asked for by a result, never by a request on the stream.
pub const STREAMING: Entry = Entry {
    name: "test_streaming_elicitation",
    group: "conformance",
    explanation: "Has the client ask its user.",
    input: nothing,
    output: None,
    since: Revision::V2025_06_18,
    answer: |call| {
        Box::pin(async move {
            let schema =
                json!({ "type": "object", "properties": { "name": { "type": "string" } } });
            elicit(call, "What is your name?", &schema, "User response").await
        })
    },
};
