//! Saying more than one thing.

use super::data::words_of;
use crate::call::text;
use crate::prelude::*;

/// The longest that all steps or messages may take, in milliseconds.
const TOTAL_MS_MAX: u64 = 60_000;

/// Says how far it is while it works.
pub async fn progress(call: Call<'_>) -> Value {
    let steps = call.count("steps", 1_000);
    let step = call.count("step_ms", TOTAL_MS_MAX / steps.max(1));
    let mut notifications = 0;
    for number in 1..=steps {
        tokio::time::sleep(Duration::from_millis(step)).await;
        notifications += u64::from(send_progress(call, number, steps).await);
    }
    json!({ "steps": steps, "notifications": notifications })
}

/// Tells how far it is, if anybody asked.
pub async fn send_progress(call: Call<'_>, progress: u64, total: u64) -> bool {
    let Some(token) = call.exchange.request.meta("progressToken") else {
        return false;
    };
    let mut params = json!({ "progressToken": token, "progress": progress, "total": total });
    if call.exchange.revision >= Revision::V2025_03_26 {
        params["message"] = format!("step {progress} of {total}").into();
    }
    call.exchange
        .notify("notifications/progress", &params)
        .await;
    true
}

/// Answers with many blocks of text.
pub fn long_output(call: Call<'_>) -> Value {
    let count = call.count("blocks", 1_000);
    let words = call.count("words", 1_000_000 / count.max(1));
    let block = |number: u64| format!("{}: {}", number + 1, words_of(&number.to_string(), words));
    let texts: Vec<String> = (0..count).map(block).collect();
    let chars: usize = texts.iter().map(String::len).sum();
    structured(
        &json!({ "blocks": count, "chars": chars }),
        texts.iter().map(|block| text(block)).collect(),
    )
}

/// Logs more than it says.
pub async fn chatty(call: Call<'_>) -> Value {
    let messages = call.count("messages", 10_000);
    let interval = call.count("interval_ms", TOTAL_MS_MAX / messages.max(1));
    let level = call.arguments.get("level").and_then(LogLevel::of);
    let level = level.unwrap_or(LogLevel::Info);
    let mut sent = 0;
    for number in 1..=messages {
        tokio::time::sleep(Duration::from_millis(interval)).await;
        let text = json!(format!("message {number} of {messages}"));
        sent += u64::from(call.exchange.log(level, "chatty", &text).await);
    }
    json!({ "messages": messages, "sent": sent })
}

/// Tells all clients that something changed. Changes are kept for clients that are behind, so they are short.
pub fn announce(call: Call<'_>) -> Value {
    let what = call.text("what");
    call.exchange.host().publish(match what {
        "tools" => Change::List("tools"),
        "prompts" => Change::List("prompts"),
        "resources" => Change::List("resources"),
        _ => Change::Resource(call.text("uri").to_owned()),
    });
    json!({ "announced": what })
}
