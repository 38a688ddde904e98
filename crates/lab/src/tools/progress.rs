//! Says how far it is while it works.

use std::time::Duration;

use mcprove_trace::protocol::Revision;
use serde_json::json;

use crate::call::{Call, Reply};
use crate::registry::{Entry, object, whole};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "progress",
    group: "streaming",
    explanation: "Works in steps, and tells of each if the request has a progressToken.",
    input: || {
        let properties = json!({
            "steps": { "type": "integer", "minimum": 0, "description": "How many; more than 1000 is 1000", "default": STEPS_DEFAULT },
            "step_ms": { "type": "integer", "minimum": 0, "description": "How long each takes, in milliseconds; all together at most 60000", "default": STEP_MS_DEFAULT },
        });
        object(&properties, &[])
    },
    output: Some(|| {
        whole(&json!({ "steps": { "type": "integer" }, "notifications": { "type": "integer" } }))
    }),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(answer(call)),
};

const STEPS_DEFAULT: u64 = 5;
const STEPS_MAX: u64 = 1_000;
const STEP_MS_DEFAULT: u64 = 100;
/// The longest that all steps may take.
const TOTAL_MS_MAX: u64 = 60_000;

async fn answer(call: Call<'_>) -> Reply {
    let steps = call.capped("steps", STEPS_DEFAULT, STEPS_MAX);
    let step = call.capped("step_ms", STEP_MS_DEFAULT, TOTAL_MS_MAX / steps.max(1));
    let mut notifications = 0;
    for number in 1..=steps {
        tokio::time::sleep(Duration::from_millis(step)).await;
        if tell(call, number, steps).await {
            notifications += 1;
        }
    }
    Reply::Structured(json!({ "steps": steps, "notifications": notifications }))
}

/// Tells how far it is, if anybody asked.
pub async fn tell(call: Call<'_>, progress: u64, total: u64) -> bool {
    let Some(token) = call.exchange.request.meta("progressToken") else {
        return false;
    };
    let mut params = json!({ "progressToken": token, "progress": progress, "total": total });
    if let (true, Some(fields)) = (
        call.exchange.revision >= Revision::V2025_03_26,
        params.as_object_mut(),
    ) {
        let message = format!("step {progress} of {total}");
        fields.insert("message".to_owned(), message.into());
    }
    let notification = json!({
        "jsonrpc": "2.0", "method": "notifications/progress", "params": params,
    });
    call.exchange.send(&notification).await;
    true
}
