//! Logs more than it says.

use std::time::Duration;

use mcprove_servers::hosting::LogLevel;
use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::call::{Call, Reply};
use crate::registry::{Entry, object, whole};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "chatty",
    group: "streaming",
    explanation: "Sends log messages before its answer, to a client that wants them.",
    input: || {
        let levels = LogLevel::ALL.map(|(name, _)| name);
        let properties = json!({
            "messages": { "type": "integer", "minimum": 0, "description": "How many; more than 10000 is 10000", "default": MESSAGES_DEFAULT },
            "level": { "type": "string", "enum": levels, "description": "How severe they are", "default": "info" },
            "interval_ms": { "type": "integer", "minimum": 0, "description": "How long to wait before each, in milliseconds; all together at most 60000", "default": 0 },
        });
        object(&properties, &[])
    },
    output: Some(|| {
        whole(&json!({ "messages": { "type": "integer" }, "sent": { "type": "integer" } }))
    }),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(answer(call)),
};

const MESSAGES_DEFAULT: u64 = 5;
const MESSAGES_MAX: u64 = 10_000;
/// The longest that all may take.
const TOTAL_MS_MAX: u64 = 60_000;
/// Who logs.
const LOGGER: &str = "chatty";

async fn answer(call: Call<'_>) -> Reply {
    let messages = call.capped("messages", MESSAGES_DEFAULT, MESSAGES_MAX);
    let interval = call.capped("interval_ms", 0, TOTAL_MS_MAX / messages.max(1));
    let level = call.argument("level").and_then(Value::as_str);
    let level = level
        .and_then(|level| level.parse().ok())
        .unwrap_or(LogLevel::Info);
    let mut sent = 0;
    for number in 1..=messages {
        tokio::time::sleep(Duration::from_millis(interval)).await;
        let text = json!(format!("message {number} of {messages}"));
        if call.exchange.log(level, LOGGER, &text).await {
            sent += 1;
        }
    }
    Reply::Structured(json!({ "messages": messages, "sent": sent }))
}
