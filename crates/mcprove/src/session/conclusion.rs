//! How a call ends: its outcome, in exactly one category, and its terminal event.

use std::ops::Range;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcprove_score::trace::{CallFailure, ErrorCategory, EventKind, RequestKey};
use serde_json::Value;

use super::call::{CallError, FailedCall, Reply};
use super::core::{Core, Waiting};
use super::request::Label;
use crate::protocol::{RpcError, parse_bounded};
use crate::text::shorten;
use crate::transport::Failure;

/// How much of what the server says of an error goes into its message.
const SAID_CHARACTERS_MAX: usize = 500;

/// How a request ended.
pub(super) enum Ending {
    /// With this result: where it lies in the frame.
    Result(Bytes, Range<usize>),
    /// With this JSON-RPC error.
    Error(RpcError),
    /// On the way.
    Failure(Failure),
}

impl Core {
    /// Makes the outcome of a call and emits its terminal event.
    pub(super) fn conclude(
        &self,
        id: u64,
        waiting: &Waiting,
        ending: Ending,
        now: Instant,
    ) -> Result<Reply, CallError> {
        let duration = now.saturating_duration_since(waiting.sent);
        let label = &waiting.label;
        let (failure, reply, error) = match ending {
            Ending::Result(frame, result) => {
                let reply = Reply {
                    frame,
                    result,
                    request_id: id,
                    duration,
                };
                match tool_failure(label, reply.result()) {
                    None => {
                        self.emit_response(id, label, duration, reply.result(), now);
                        return Ok(reply);
                    }
                    Some(message) => (
                        Failure::new(ErrorCategory::ToolError, message),
                        Some(reply),
                        None,
                    ),
                }
            }
            Ending::Error(error) => {
                let category = ErrorCategory::from_code(error.code);
                let said = shorten(&error.message, SAID_CHARACTERS_MAX);
                let message = format!("{said} (code {})", error.code);
                (Failure::new(category, message), None, Some(error))
            }
            Ending::Failure(failure) => (failure, None, None),
        };
        let error = CallError::from(FailedCall {
            failure,
            request_id: id,
            duration,
            reply,
            error,
        });
        self.emit_error(label, &error, now);
        Err(error)
    }

    fn emit_response(&self, id: u64, label: &Label, duration: Duration, result: &str, at: Instant) {
        if self.recorder.is_observed() {
            let kind = EventKind::Response {
                request: RequestKey {
                    session: self.options.session_number,
                    id,
                },
                method: &label.method,
                tool: label.tool(),
                duration,
                result,
            };
            self.recorder.record(at, kind);
        }
    }

    pub(super) fn emit_error(&self, label: &Label, error: &CallError, at: Instant) {
        if self.recorder.is_observed() {
            let failure = CallFailure {
                category: error.category(),
                message: &error.failure.message,
                code: error.code(),
            };
            let kind = EventKind::Error {
                request: RequestKey {
                    session: self.options.session_number,
                    id: error.request_id,
                },
                method: &label.method,
                tool: label.tool(),
                duration: error.duration,
                failure,
            };
            self.recorder.record(at, kind);
        }
    }
}

/// The message of a tool's own failure, or `None` when the call succeeded.
fn tool_failure(label: &Label, result: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct ToolResult<'a> {
        #[serde(default, rename = "isError")]
        is_error: bool,
        #[serde(borrow)]
        content: Option<&'a serde_json::value::RawValue>,
    }
    label.tool()?;
    // Most results have no such key at all, and then nothing needs to be parsed.
    memchr::memmem::find(result.as_bytes(), b"\"isError\"")?;
    let parsed: ToolResult<'_> = serde_json::from_str(result).ok()?;
    if !parsed.is_error {
        return None;
    }
    let content = parsed
        .content
        .and_then(|raw| parse_bounded::<Value>(raw.get()).ok());
    let text = content
        .as_ref()
        .and_then(Value::as_array)
        .and_then(|blocks| blocks.iter().find_map(|block| block.get("text")?.as_str()))
        .unwrap_or("the tool reported an error without a text");
    Some(shorten(text, SAID_CHARACTERS_MAX))
}
