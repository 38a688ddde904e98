//! How a call ends: its outcome, in exactly one category, and its terminal event.

use std::ops::Range;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcprove_score::trace::{CallFailure, CallTag, ErrorCategory, EventKind, RequestKey};
use memchr::memmem::Finder;
use serde_json::Value;
use serde_json::value::RawValue;

use super::call::{CallError, FailedCall, Reply};
use super::core::{Core, Waiting};
use super::options::ResultCheck;
use super::request::Label;
use crate::contained::contain_call;
use crate::protocol::{RpcError, parse_bounded};
use crate::quantity::describe_duration;
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
                let text = reply.result();
                match self.result_failure(label, text) {
                    None if waiting.hung => (late(duration), Some(reply), None),
                    None => {
                        self.emit_response(id, waiting, duration, text, now);
                        return Ok(reply);
                    }
                    Some(failure) => (failure, Some(reply), None),
                }
            }
            Ending::Error(error) => (rpc_failure(&error), None, Some(error)),
            Ending::Failure(failure) => {
                if let Some(limit) = failure.own_limit() {
                    self.recorder.meet_limit(limit);
                }
                (failure, None, None)
            }
        };
        let error = CallError::from(FailedCall {
            failure,
            request_id: id,
            duration,
            reply,
            error,
        });
        self.emit_error(label, &error, waiting.tag, now);
        Err(error)
    }

    /// Why a result is a failure, if it is.
    fn result_failure(&self, label: &Label, result: &str) -> Option<Failure> {
        let tool = label.tool()?;
        let failure = tool_failure(result);
        let is_malformed = failure
            .as_ref()
            .is_some_and(|failure| failure.category == ErrorCategory::Malformed);
        if is_malformed {
            return failure;
        }
        // What a fault made of the result says nothing about the server.
        let check = self.options.result_check.as_ref();
        let check = check.filter(|_| !self.is_injecting());
        check
            .and_then(|check| self.check_result(check, tool, result))
            .or(failure)
    }

    /// What the user's check says of a result. One that panics says nothing about the server, so it is we who
    /// give the call up.
    fn check_result(&self, check: &ResultCheck, tool: &str, result: &str) -> Option<Failure> {
        contain_call(|| check(tool, result)).unwrap_or_else(|words| {
            self.note_panic("the check of results", &words);
            let message = format!("the check of the result panicked: {words}");
            Some(Failure::new(ErrorCategory::Cancelled, message))
        })
    }

    fn emit_response(
        &self,
        id: u64,
        waiting: &Waiting,
        duration: Duration,
        result: &str,
        at: Instant,
    ) {
        if self.recorder.is_observed() {
            let label = &waiting.label;
            let kind = EventKind::Response {
                request: RequestKey {
                    session: self.options.session_number,
                    id,
                },
                method: &label.method,
                tool: label.tool(),
                duration,
                result,
                tag: waiting.tag,
            };
            self.recorder.record(at, kind);
        }
    }

    pub(super) fn emit_error(&self, label: &Label, error: &CallError, tag: CallTag, at: Instant) {
        if self.recorder.is_observed() {
            let failure = CallFailure {
                category: error.category(),
                message: &error.failure.message,
                code: error.code(),
                answer: "",
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
                tag,
            };
            self.recorder.record(at, kind);
        }
    }
}

/// An answer that came, but after the call had counted as hung.
fn late(duration: Duration) -> Failure {
    let message = format!(
        "answered late, after {}: past the hang threshold",
        describe_duration(duration)
    );
    Failure::new(ErrorCategory::Hang, message)
}

/// What a JSON-RPC error means for the call that it ends.
pub(crate) fn rpc_failure(error: &RpcError) -> Failure {
    let category = ErrorCategory::from_code(error.code);
    let said = shorten(&error.message, SAID_CHARACTERS_MAX);
    Failure::new(category, format!("{said} (code {})", error.code))
}

/// Looks for the key that makes a result a failure; made once, for each result is searched.
static IS_ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"isError\""));

/// Why the result of a tool is a failure, as far as that can be told at no cost; `None` when the call
/// succeeded.
pub(crate) fn tool_failure(result: &str) -> Option<Failure> {
    #[derive(serde::Deserialize)]
    struct ToolResult<'a> {
        #[serde(borrow, default, rename = "isError")]
        is_error: Option<&'a RawValue>,
        #[serde(borrow)]
        content: Option<&'a RawValue>,
    }
    if !result.starts_with('{') {
        return Some(malformed("the result is not an object"));
    }
    // Most results have no such key at all, and then nothing needs to be parsed.
    IS_ERROR.find(result.as_bytes())?;
    let parsed: ToolResult<'_> = serde_json::from_str(result).ok()?;
    match parsed.is_error.map(RawValue::get) {
        None | Some("false") => return None,
        Some("true") => {}
        Some(_) => return Some(malformed("`isError` is neither true nor false")),
    }
    let content = parsed
        .content
        .and_then(|raw| parse_bounded::<Value>(raw.get()).ok());
    let text = content
        .as_ref()
        .and_then(Value::as_array)
        .and_then(|blocks| blocks.iter().find_map(|block| block.get("text")?.as_str()))
        .unwrap_or("the tool reported an error without a text");
    let message = shorten(text, SAID_CHARACTERS_MAX);
    Some(Failure::new(ErrorCategory::ToolError, message))
}

fn malformed(message: &str) -> Failure {
    Failure::new(ErrorCategory::Malformed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_result_of_a_tool_is_told_at_no_cost() {
        use ErrorCategory::{Malformed, ToolError};
        let cases = [
            ("5", Some(Malformed)),
            ("null", Some(Malformed)),
            ("\"x\"", Some(Malformed)),
            ("[]", Some(Malformed)),
            (r#"{"content":[],"isError":"yes"}"#, Some(Malformed)),
            (r#"{"content":[],"isError":1}"#, Some(Malformed)),
            (r#"{"content":[],"isError":true}"#, Some(ToolError)),
            (r#"{"content":[],"isError": false}"#, None),
            (r#"{"content":[]}"#, None),
            // In a place of its own it means nothing.
            (r#"{"content":[{"isError":"yes"}]}"#, None),
        ];
        for (result, expected) in cases {
            let category = tool_failure(result).map(|failure| failure.category);
            assert_eq!(category, expected, "{result}");
        }
    }
}
