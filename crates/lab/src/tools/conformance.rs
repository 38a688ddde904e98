//! What the official conformance suite expects tools to do besides answering. `catalogue/conformance.json` declares them.

use std::slice;

use tokio::time::sleep;

use super::streaming::send_progress;
use crate::ask::{self, questions, require};
use crate::prelude::*;

/// How long the suite wants between two messages.
const PAUSE: Duration = Duration::from_millis(50);

/// Sends something before the answer, or beside it.
pub async fn answer(call: Call<'_>, tool: &str) -> Value {
    let exchange = call.exchange;
    let says = match tool {
        "test_tool_with_logging" | "test_logging_tool" => {
            let messages = [
                "execution started",
                "processing data",
                "execution completed",
            ];
            for (number, message) in messages.into_iter().enumerate() {
                if number > 0 {
                    sleep(PAUSE).await;
                }
                let data = json!(format!("Tool {message}"));
                exchange.log(LogLevel::Info, "conformance", &data).await;
            }
            "Logged."
        }
        "test_tool_with_progress" => {
            for done in [0, 50, 100] {
                if done > 0 {
                    sleep(PAUSE).await;
                }
                send_progress(call, done, 100).await;
            }
            "Done."
        }
        // Closes the stream before the answer, which the client then fetches.
        "test_reconnection" => {
            exchange.park(Duration::from_millis(100)).await;
            sleep(Duration::from_millis(200)).await;
            "You came back."
        }
        "test_trigger_tool_change" => {
            exchange.host().publish(Change::List("tools"));
            "Told."
        }
        "test_trigger_prompt_change" => {
            exchange.host().publish(Change::List("prompts"));
            "Told."
        }
        // It is there for its schema.
        _ => {
            let given = Value::Object(call.arguments.clone()).to_string();
            return json!({ "content": [crate::call::text(&given)] });
        }
    };
    said(says, &Map::new())
}

/// Asks the second question when the first is answered, whose answer is in the state.
pub async fn rounds(call: Call<'_>, tool: &LabTool) -> Answered {
    /// What the state says before the second question; the name follows.
    const SECOND: &str = "second:";
    let [first, second] = &tool.asks[..] else {
        return Ok(Value::Null);
    };
    let second = slice::from_ref(second);
    let state = call.exchange.request.params.get("requestState");
    let state = state.and_then(|state| call.lab.signed_state.check(state.as_str()?));
    if let Some(state) = state
        && let Some(name) = state.strip_prefix(SECOND)
    {
        let mut answers = ask(call, second, Some(state)).await?;
        answers.insert("name".to_owned(), name.into());
        return Ok(said(&tool.says, &answers));
    }
    let answers = Value::Object(ask(call, slice::from_ref(first), Some("first")).await?);
    let name = answers.pointer("/step1/content/name");
    let name = name.and_then(Value::as_str).unwrap_or_default();
    Err(require(call, second, Some(&format!("{SECOND}{name}"))))
}

/// Asks only for what the client can do.
pub async fn possible(call: Call<'_>, tool: &LabTool) -> Answered {
    let mut questions = questions(call, tool);
    questions.retain(|question| call.exchange.client_capability(question.capability()));
    if questions.is_empty() {
        return Err(invalid("the client can answer no question").into());
    }
    ask::answer(call, tool, &questions).await
}
