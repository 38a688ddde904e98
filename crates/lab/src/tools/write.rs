//! A side effect that can be counted.

use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::call::{Call, Reply};
use crate::registry::{Entry, object, whole};
use crate::state::NAME_CHARS_MAX;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "write",
    group: "effects",
    explanation: "Writes once for each call, or once for each idempotency_key: count tells how often.",
    input: || {
        let properties = json!({
            "key": { "type": "string", "maxLength": NAME_CHARS_MAX, "description": "What is written to" },
            "idempotency_key": { "type": "string", "maxLength": NAME_CHARS_MAX, "description": "Calls with the same one write once" },
            "then_fail": { "type": "boolean", "description": "Write, and answer with an error all the same", "default": false },
        });
        object(&properties, &["key"])
    },
    output: Some(|| {
        whole(&json!({
            "key": { "type": "string" },
            "applied": { "type": "boolean" },
            "count": { "type": "integer" },
        }))
    }),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

/// The code of a tool that failed.
const CODE: i64 = -32_000;

fn answer(call: Call<'_>) -> Reply {
    let key = call.text_or("key", "");
    let idempotency_key = call.argument("idempotency_key").and_then(Value::as_str);
    match call.lab.state.write(key, idempotency_key) {
        Err(full) => Reply::error(CODE, full.to_string()),
        Ok(_) if call.flag("then_fail") => Reply::error(CODE, "failed after the write, as told"),
        Ok((applied, count)) => {
            Reply::Structured(json!({ "key": key, "applied": applied, "count": count.applied }))
        }
    }
}
