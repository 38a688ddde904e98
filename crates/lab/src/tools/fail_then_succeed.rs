//! Fails a given number of times, then succeeds: what a retry is for.

use mcprove_trace::protocol::Revision;
use serde_json::json;

use crate::call::{Call, Reply};
use crate::registry::{Entry, object, whole};
use crate::state::NAME_CHARS_MAX;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "fail_then_succeed",
    group: "failure",
    explanation: "Fails the first calls with a key, then succeeds.",
    input: || {
        let properties = json!({
            "key": { "type": "string", "maxLength": NAME_CHARS_MAX, "description": "What the attempts are counted by", "default": DEFAULT_KEY },
            "failures": { "type": "integer", "minimum": 0, "description": "How many calls fail", "default": 1 },
            "as_tool": { "type": "boolean", "description": "Fail with a result that has isError", "default": false },
            "reset": { "type": "boolean", "description": "Begin to count anew with this call", "default": false },
        });
        object(&properties, &[])
    },
    output: Some(|| {
        whole(&json!({
            "key": { "type": "string" },
            "attempt": { "type": "integer" },
            "failures": { "type": "integer" },
            "succeeded": { "type": "boolean" },
        }))
    }),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

const DEFAULT_KEY: &str = "default";
const FAILURES_MAX: u64 = 1_000_000;
/// The code of a tool that failed.
const CODE: i64 = -32_000;

fn answer(call: Call<'_>) -> Reply {
    let key = call.text_or("key", DEFAULT_KEY);
    let failures = call.capped("failures", 1, FAILURES_MAX);
    if call.flag("reset") {
        call.lab.state.forget_attempts(key);
    }
    let attempt = call.lab.state.attempt(key);
    let succeeded = attempt > failures;
    let body =
        json!({ "key": key, "attempt": attempt, "failures": failures, "succeeded": succeeded });
    if succeeded {
        return Reply::Structured(body);
    }
    let message = format!("failure {attempt} of {failures}, as told");
    if call.flag("as_tool") {
        Reply::failed(body, &message)
    } else {
        Reply::error(CODE, message)
    }
}
