//! A call that a fault acts on by itself, as it would on a live one: the fault says what becomes of it.

use std::future::ready;

use bytes::Bytes;
use mcprove_fault::{FaultedCall, status_reply};

use super::{failed, unreadable};
use crate::prelude::*;

/// What the fault itself makes of the call. Only for kinds that do not wait.
pub(super) async fn acted_on(
    injection: &Injection,
    toolbox: &dyn Toolbox,
    call: ToolRequest<'_>,
) -> Result<ToolAnswer, TestError> {
    let acted = ActedOn {
        toolbox,
        call,
        duration: Mutex::default(),
        outcome: Mutex::new(Ok(failed("The server gave no answer.", Duration::ZERO))),
    };
    injection.apply(&acted).await;
    let duration = *lock(&acted.duration);
    let outcome = lock(&acted.outcome).clone();
    outcome.map(|answer| ToolAnswer { duration, ..answer })
}

/// A call that a fault acts on.
struct ActedOn<'a> {
    toolbox: &'a dyn Toolbox,
    call: ToolRequest<'a>,
    /// How long the real call took.
    duration: Mutex<Duration>,
    outcome: Mutex<Result<ToolAnswer, TestError>>,
}

impl ActedOn<'_> {
    fn end(&self, answer: ToolAnswer) -> BoxFuture<'_, ()> {
        let mut outcome = lock(&self.outcome);
        // That a recording has no such call stays so, whatever the fault makes of it.
        if outcome.is_ok() {
            *outcome = Ok(answer);
        }
        Box::pin(ready(()))
    }

    fn fail(&self, text: &str) -> BoxFuture<'_, ()> {
        self.end(failed(text, Duration::ZERO))
    }
}

impl FaultedCall for ActedOn<'_> {
    fn id(&self) -> &'static str {
        "1"
    }

    fn tool(&self) -> &str {
        self.call.tool
    }

    fn progress_token(&self) -> Option<&Value> {
        None
    }

    fn is_stateless(&self) -> bool {
        false
    }

    fn execute(&self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async {
            match self.toolbox.call(self.call).await {
                Ok(answer) => {
                    *lock(&self.duration) = answer.duration;
                    Some(message(&answer))
                }
                Err(error) => {
                    *lock(&self.outcome) = Err(error);
                    None
                }
            }
        })
    }

    fn reply(&self, message: Bytes) -> BoxFuture<'_, ()> {
        self.end(answer(&message))
    }

    fn send(&self, _: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    fn reply_cut(&self, _: Bytes) -> BoxFuture<'_, ()> {
        self.end(unreadable("it was cut off", Duration::ZERO))
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.fail("The connection was closed by the server.")
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        self.fail("The server exited with status 1; the connection was closed.")
    }

    fn refuse(&self, status: u16, retry_after_s: u64) -> BoxFuture<'_, ()> {
        self.end(answer(&status_reply(self, status, retry_after_s)))
    }

    fn ignore_cancellation(&self) {}
}

/// An answer as the message that it came in.
fn message(answer: &ToolAnswer) -> Bytes {
    let result = answer.result.value();
    let message = match result.get("error") {
        Some(error) => json!({ "jsonrpc": "2.0", "id": 1, "error": error }),
        None => json!({ "jsonrpc": "2.0", "id": 1, "result": result }),
    };
    message.to_string().into()
}

/// A message as the answer that it is.
fn answer(message: &Bytes) -> ToolAnswer {
    let message: Value = serde_json::from_slice(message).unwrap_or_default();
    let (result, is_error) = match (message.get("result"), message.get("error")) {
        (Some(result), _) => (result.clone(), result["isError"] == true),
        (None, Some(error)) => (json!({ "error": error }), true),
        (None, None) => return unreadable("it is no JSON", Duration::ZERO),
    };
    ToolAnswer {
        result: result.into(),
        is_error,
        duration: Duration::ZERO,
    }
}
