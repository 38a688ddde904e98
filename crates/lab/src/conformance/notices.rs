//! Tools that send something before their answer, or beside it.

use std::time::Duration;

use mcprove_servers::hosting::{Change, LogLevel};
use mcprove_trace::BoxFuture;
use mcprove_trace::protocol::Revision;
use serde_json::json;

use crate::call::{Call, Reply, content, text};
use crate::registry::{Entry, nothing};
use crate::tools::progress;

/// How long the suite wants between two messages.
const PAUSE: Duration = Duration::from_millis(50);
/// When the client is to come back to a stream that was closed.
const RETRY: Duration = Duration::from_millis(100);
/// How long the answer takes after the stream was closed.
const AWAY: Duration = Duration::from_millis(200);

const fn entry(
    name: &'static str,
    explanation: &'static str,
    answer: for<'a> fn(Call<'a>) -> BoxFuture<'a, Reply>,
) -> Entry {
    Entry {
        name,
        group: "conformance",
        explanation,
        input: nothing,
        output: None,
        since: Revision::V2024_11_05,
        answer,
    }
}

/// Three log messages.
pub const LOGGING: Entry = entry(
    "test_tool_with_logging",
    "Sends three log messages, then answers.",
    |call| Box::pin(log(call)),
);

/// The same, for a client that did not ask for any.
pub const QUIET_LOGGING: Entry = entry(
    "test_logging_tool",
    "Sends three log messages to a client that asks for them, then answers.",
    |call| Box::pin(log(call)),
);

async fn log(call: Call<'_>) -> Reply {
    let messages = [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ];
    for (number, message) in messages.into_iter().enumerate() {
        if number > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let data = json!(message);
        call.exchange
            .log(LogLevel::Info, "conformance", &data)
            .await;
    }
    content(&[text("Logged.")])
}

/// Three reports of progress.
pub const PROGRESS: Entry = entry(
    "test_tool_with_progress",
    "Tells three times how far it is, then answers.",
    |call| {
        Box::pin(async move {
            for done in [0, 50, 100] {
                if done > 0 {
                    tokio::time::sleep(PAUSE).await;
                }
                progress::tell(call, done, 100).await;
            }
            content(&[text("Done.")])
        })
    },
);

/// A stream that the server closes before the answer.
pub const RECONNECTION: Entry = entry(
    "test_reconnection",
    "Closes the stream before the answer, which the client then fetches.",
    |call| {
        Box::pin(async move {
            call.exchange.park(RETRY).await;
            tokio::time::sleep(AWAY).await;
            content(&[text("You came back.")])
        })
    },
);

/// A change of the list of tools.
pub const TOOL_CHANGE: Entry = entry(
    "test_trigger_tool_change",
    "Tells that the list of tools changed.",
    |call| Box::pin(async move { publish(call, Change::Tools) }),
);

/// A change of the list of prompts.
pub const PROMPT_CHANGE: Entry = entry(
    "test_trigger_prompt_change",
    "Tells that the list of prompts changed.",
    |call| Box::pin(async move { publish(call, Change::Prompts) }),
);

fn publish(call: Call<'_>, change: Change) -> Reply {
    call.exchange.host().publish(change);
    content(&[text("Told.")])
}
