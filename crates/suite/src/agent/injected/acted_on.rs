//! A call that a fault acts on by itself, as it would on a live one: the fault says what becomes of it.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use mcprove_fault::{FaultedCall, Injection, status_reply};
use mcprove_trace::BoxFuture;
use serde_json::{Value, json};

use super::{PlannedCall, failed};
use crate::agent::toolbox::ToolAnswer;
use crate::error::TestError;
use mcprove_settings::sync::lock;

/// The id of the request that a fault sees.
const ID: &str = "1";

/// What the fault itself makes of the call. Only for kinds that do not wait.
pub(super) async fn acted_on(
    injection: &Injection,
    call: PlannedCall<'_>,
) -> Result<ToolAnswer, TestError> {
    let acted = ActedOn {
        call,
        state: Mutex::default(),
    };
    injection.apply(&acted).await;
    let state = std::mem::take(&mut *acted.state());
    match (state.error, state.answer) {
        (Some(error), _) => Err(error),
        (None, Some(answer)) => Ok(ToolAnswer {
            duration: state.duration,
            ..answer
        }),
        (None, None) => Ok(failed("The server gave no answer.", state.duration)),
    }
}

/// A call that a fault acts on.
struct ActedOn<'a> {
    call: PlannedCall<'a>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    answer: Option<ToolAnswer>,
    error: Option<TestError>,
    /// How long the real call took.
    duration: Duration,
}

impl ActedOn<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn end(&self, answer: ToolAnswer) -> BoxFuture<'_, ()> {
        self.state().answer = Some(answer);
        Box::pin(std::future::ready(()))
    }
}

impl FaultedCall for ActedOn<'_> {
    fn id(&self) -> &str {
        ID
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
            match self.call.make().await {
                Ok(answer) => {
                    self.state().duration = answer.duration;
                    Some(message(&answer))
                }
                Err(error) => {
                    self.state().error = Some(error);
                    None
                }
            }
        })
    }

    fn reply(&self, message: Bytes) -> BoxFuture<'_, ()> {
        self.end(answer(&message))
    }

    fn send(&self, _: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn reply_cut(&self, _: Bytes) -> BoxFuture<'_, ()> {
        self.end(failed(
            "The reply of the server could not be read: it was cut off.",
            Duration::ZERO,
        ))
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.end(failed(
            "The connection was closed by the server.",
            Duration::ZERO,
        ))
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        self.end(failed(
            "The server exited with status 1; the connection was closed.",
            Duration::ZERO,
        ))
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
        (Some(result), _) => {
            let is_error = result.get("isError") == Some(&Value::Bool(true));
            (result.clone(), is_error)
        }
        (None, Some(error)) => (json!({ "error": error }), true),
        (None, None) => {
            return failed(
                "The reply of the server could not be read: it is no JSON.",
                Duration::ZERO,
            );
        }
    };
    ToolAnswer {
        result: result.into(),
        is_error,
        duration: Duration::ZERO,
    }
}
