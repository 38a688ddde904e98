//! Fails as it is told: as a JSON-RPC error, or as a tool that says that it failed.

use mcprove_servers::hosting::Refusal;
use mcprove_servers::hosting::message::INVALID_PARAMS;
use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::call::{Call, Reply};
use crate::category::{CODES, code};
use crate::registry::{Entry, object, whole};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "error",
    group: "failure",
    explanation: "Fails with a message and a category: as a JSON-RPC error, or with as_tool as a result with isError.",
    input: || {
        let categories = CODES.map(|(name, _)| name);
        let properties = json!({
            "message": { "type": "string", "description": "What the error says", "default": DEFAULT_MESSAGE },
            "category": {
                "type": "string",
                "enum": categories,
                "description": "The kind of error: its code, and the error_category of its audit row",
            },
            "as_tool": {
                "type": "boolean",
                "description": "Answer with a result that has isError, not with a JSON-RPC error",
                "default": false,
            },
        });
        object(&properties, &[])
    },
    output: Some(|| whole(&json!({ "triggered": { "type": "boolean" } }))),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

const DEFAULT_MESSAGE: &str = "synthetic error";

/// The code of an error without a category.
const DEFAULT_CODE: i64 = -32_000;

fn answer(call: Call<'_>) -> Reply {
    let message = call.text_or("message", DEFAULT_MESSAGE);
    if call.flag("as_tool") {
        return Reply::failed(json!({ "triggered": true }), message);
    }
    let category = call.argument("category").and_then(Value::as_str);
    let code = category.and_then(code).unwrap_or(DEFAULT_CODE);
    Reply::error(code, message)
}

/// The refusal of a category that does not exist. Whoever tests with it wants a protocol error, not a
/// hint for a model.
pub fn refusal(tool: &str, arguments: &Value) -> Option<Refusal> {
    let category = arguments.get("category").filter(|_| tool == ENTRY.name)?;
    let is_known = category.as_str().and_then(code).is_some();
    (!is_known).then(|| {
        let known = CODES.map(|(name, _)| name).join(", ");
        let text = format!("Invalid params: unknown category {category}; known: {known}");
        Refusal::new(INVALID_PARAMS, text)
    })
}
