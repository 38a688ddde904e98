//! How often was written.

use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::call::{Call, Reply};
use crate::registry::{Entry, object};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "count",
    group: "effects",
    explanation: "Tells how often write had an effect: for one key, or for all.",
    input: || {
        let properties = json!({
            "key": { "type": "string", "description": "What was written to; all keys without it" },
            "reset": { "type": "boolean", "description": "Forget what was counted, after telling it", "default": false },
        });
        object(&properties, &[])
    },
    output: Some(|| {
        let properties = json!({
            "key": { "type": "string" },
            "count": { "type": "integer" },
            "repeated": { "type": "integer", "description": "Writes without effect, because their idempotency_key was known" },
            "counts": { "type": "object" },
        });
        object(&properties, &["count"])
    }),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

fn answer(call: Call<'_>) -> Reply {
    let state = &call.lab.state;
    let key = call.argument("key").and_then(Value::as_str);
    let body = if let Some(key) = key {
        let count = state.count(key);
        json!({ "key": key, "count": count.applied, "repeated": count.repeated })
    } else {
        let (counts, total) = state.counts();
        json!({ "count": total, "counts": counts })
    };
    if call.flag("reset") {
        state.forget_writes(key);
    }
    Reply::Structured(body)
}
