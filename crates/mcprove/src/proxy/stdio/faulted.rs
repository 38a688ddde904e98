//! A call over stdio that met a fault.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use mcprove_score::trace::ErrorCategory;
use serde_json::Value;

use super::hub::{FaultEnd, Hub};
use crate::fault::{FaultKind, FaultedCall, Injection, status_reply};
use crate::proxy::journal::Page;
use crate::proxy::message::{IdKey, ToolCall};
use crate::proxy::struck::{CallState, Struck, has_last_word, needed};
use crate::recording::RecordedRequest;
use crate::transport::BoxFuture;

/// The call, and the way to both sides.
struct FaultedLine {
    hub: Arc<Hub>,
    call: ToolCall,
    /// The request as it came, its line break included.
    line: Bytes,
    key: IdKey,
    serial: u64,
    state: Arc<CallState>,
    page: Page,
    recorded: Option<RecordedRequest>,
    /// Whether the answer is lost even if the call is cancelled.
    is_lost: bool,
}

/// Lets a fault act on a call, in a task of its own.
pub(super) fn strike(
    hub: &Arc<Hub>,
    mut call: ToolCall,
    line: Bytes,
    injection: Injection,
    page: Page,
    recorded: Option<RecordedRequest>,
) {
    let key = IdKey::new(&call.id);
    let kind = injection.fault().kind;
    // No fault reads the arguments.
    call.arguments = String::new();
    let line = needed(kind, line);
    let bytes = line.len();
    let due = injection.delay().map(|delay| Instant::now() + delay);
    hub.struck.strike(&key.clone(), |serial| {
        let state = Arc::new(CallState::default());
        // Before it acts for the first time, for a cancellation may be here already.
        if kind == FaultKind::ReplyAfterCancel {
            state.ignore_cancellation();
        }
        let faulted = FaultedLine {
            hub: Arc::clone(hub),
            call,
            line,
            key,
            serial,
            state: Arc::clone(&state),
            page,
            recorded: recorded.clone(),
            is_lost: kind == FaultKind::LoseReply,
        };
        let task = Box::pin(async move {
            injection.apply(&faulted).await;
        });
        let struck = Struck {
            state,
            page,
            recorded,
            due,
            bytes,
            is_heard: has_last_word(kind),
        };
        (struck, task)
    });
}

/// Whether it ends by itself or is cancelled, it is over.
impl Drop for FaultedLine {
    fn drop(&mut self) {
        self.hub.struck.finish(&self.key, self.serial);
        // One that never was answered ends as everything does.
        if let Some(recorded) = self.recorded.take().filter(|open| !open.has_ended()) {
            self.hub.keep_open(&self.key, recorded);
        }
    }
}

/// Gives back the claim on an answer, when it came or nobody waits for it any more.
struct Claim<'a>(&'a FaultedLine);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let FaultedLine {
            hub, key, serial, ..
        } = self.0;
        hub.stop_taking(key, *serial, self.0.is_lost);
    }
}

impl FaultedLine {
    fn fail(&self, category: ErrorCategory, message: &str) {
        if let Some(recorded) = &self.recorded {
            recorded.fail(category, message);
        }
    }

    async fn last_word(&self, message: &[u8]) {
        if let Some(recorded) = &self.recorded {
            recorded.answer_to(&self.call.id, message);
        }
        self.hub.watch.journal.ended(self.page);
        self.hub.to_client.write_line(message).await;
    }
}

impl FaultedCall for FaultedLine {
    fn id(&self) -> &str {
        &self.call.id
    }

    fn tool(&self) -> &str {
        &self.call.tool
    }

    fn progress_token(&self) -> Option<&Value> {
        self.call.progress_token.as_ref()
    }

    fn is_stateless(&self) -> bool {
        self.call.is_stateless
    }

    fn execute(&self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            let answer = self.hub.take_answer(&self.key, self.serial);
            let _claim = Claim(self);
            self.state.forward();
            if !self.hub.to_server.write_apart(&self.line).await {
                return None;
            }
            answer.await.ok()
        })
    }

    fn reply(&self, message: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.last_word(&message).await })
    }

    fn send(&self, message: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.hub.to_client.write_line(&message).await;
        })
    }

    fn reply_cut(&self, beginning: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.last_word(&beginning).await })
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.hub.watch.journal.ended(self.page);
            self.fail(
                ErrorCategory::Disconnected,
                "the connection was closed by a fault",
            );
            self.hub.end(FaultEnd::Disconnected);
        })
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.hub.watch.journal.ended(self.page);
            self.fail(ErrorCategory::Crash, "the server was ended by a fault");
            self.hub.end(FaultEnd::Crashed);
        })
    }

    fn refuse(&self, status: u16, retry_after_s: u64) -> BoxFuture<'_, ()> {
        self.reply(status_reply(self, status, retry_after_s))
    }

    fn ignore_cancellation(&self) {
        self.state.ignore_cancellation();
    }
}
