//! How a call ends: its outcome, in exactly one category, and its terminal event.

use std::ops::Range;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcprove_settings::quantity::describe_duration;
use mcprove_trace::contained::contain_call;
use mcprove_trace::protocol::{FailedAnswer, RpcError};
use mcprove_trace::{CallFailure, CallTag, ErrorCategory, EventKind};

use super::call::{CallError, Reply};
use super::core::{Core, Waiting};
use super::options::ResultCheck;
use super::request::Label;
use crate::transport::Failure;

/// How a request ended.
pub enum Ending {
    /// With this result: where it lies in the frame.
    Result(Bytes, Range<usize>),
    /// With this JSON-RPC error.
    Error(RpcError),
    /// On the way.
    Failure(Failure),
}

impl Core {
    /// Makes the outcome of a call and emits its terminal event.
    pub fn conclude(
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
            Ending::Error(error) => (FailedAnswer::of_error(&error).into(), None, Some(error)),
            Ending::Failure(failure) => {
                if let Some(limit) = failure.own_limit() {
                    self.recorder.meet_limit(limit);
                }
                (failure, None, None)
            }
        };
        let mut failed = CallError::sent(failure, id, duration);
        failed.reply = reply;
        failed.error = error;
        self.emit_error(label, &failed, waiting.tag, now);
        Err(failed)
    }

    /// Why a result is a failure, if it is.
    fn result_failure(&self, label: &Label, result: &str) -> Option<Failure> {
        let tool = label.tool()?;
        let failure = FailedAnswer::of_tool_result(result).map(Failure::from);
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
            Some(Failure::cancelled(message))
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
                request: self.key(id),
                method: &label.method,
                tool: label.tool(),
                duration,
                result,
                tag: waiting.tag,
            };
            self.recorder.record(at, kind);
        }
    }

    pub fn emit_error(&self, label: &Label, error: &CallError, tag: CallTag, at: Instant) {
        if self.recorder.is_observed() {
            let failure = CallFailure {
                category: error.category(),
                message: &error.failure.message,
                code: error.code(),
                answer: "",
            };
            let kind = EventKind::Error {
                request: self.key(error.request_id),
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
