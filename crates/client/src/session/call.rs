//! A call in flight, and what comes of it.
//!
//! How a call ends: its outcome, in exactly one category, and its terminal event.

use std::ops::{Deref, Range};
use std::pin::Pin;

use serde::de::DeserializeOwned;

use super::prelude::*;

/// A successful answer. The result stays the bytes it came in until somebody looks into it.
#[derive(Debug, Clone)]
pub struct Reply {
    pub frame: Bytes,
    pub result: Range<usize>,
    /// The JSON-RPC id of the request.
    pub request_id: u64,
    /// From sending to the answer.
    pub duration: Duration,
}

impl Reply {
    /// The result, as JSON.
    pub fn result(&self) -> &str {
        std::str::from_utf8(self.result_bytes()).unwrap_or_default()
    }

    /// The result, as JSON, for those who need no text.
    pub fn result_bytes(&self) -> &[u8] {
        self.frame.get(self.result.clone()).unwrap_or_default()
    }

    /// The texts of a tool's result, one line each; empty where it has none.
    pub fn text(&self) -> String {
        #[derive(Deserialize)]
        struct Result {
            #[serde(default)]
            content: Vec<Value>,
        }
        let result: Option<Result> = parse_bounded(self.result()).ok();
        let content = result.map(|result| result.content).unwrap_or_default();
        let texts = content
            .iter()
            .filter_map(|block| block.get("text")?.as_str());
        texts.collect::<Vec<&str>>().join("\n")
    }

    /// The result, parsed; one that holds far too many values is refused.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, CallError> {
        parse_bounded(self.result()).map_err(|error| {
            let message = format!("the result does not have the expected form: {error}");
            self.refused(Failure::malformed(message))
        })
    }

    /// The failure of a call that was answered with this.
    pub fn refused(&self, failure: Failure) -> CallError {
        let mut error = CallError::sent(failure, self.request_id, self.duration);
        error.0.reply = Some(self.clone());
        error
    }
}

/// A call that failed, in exactly one category. What is known of it is in [`FailedCall`].
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", .0.failure)]
pub struct CallError(Box<FailedCall>);

/// What is known of a call that failed.
#[derive(Debug, Clone)]
pub struct FailedCall {
    /// Why.
    pub failure: Failure,
    /// The JSON-RPC id of the request; 0 when it was never sent.
    pub request_id: u64,
    /// From sending to the failure.
    pub duration: Duration,
    /// The answer, for a `ToolError` or a result of the wrong form.
    pub reply: Option<Reply>,
    /// The JSON-RPC error, where the server answered with one.
    pub error: Option<RpcError>,
}

impl UserError for CallError {
    fn inner(&self) -> Option<&dyn UserError> {
        Some(&self.failure)
    }
}

impl Deref for CallError {
    type Target = FailedCall;

    fn deref(&self) -> &FailedCall {
        &self.0
    }
}

impl CallError {
    pub fn unsent(failure: Failure) -> Self {
        Self::sent(failure, 0, Duration::ZERO)
    }

    pub fn sent(failure: Failure, request_id: u64, duration: Duration) -> Self {
        Self(Box::new(FailedCall {
            failure,
            request_id,
            duration,
            reply: None,
            error: None,
        }))
    }

    /// The category.
    pub fn category(&self) -> ErrorCategory {
        self.failure.category
    }

    /// The JSON-RPC error code, where there was one.
    pub fn code(&self) -> Option<i64> {
        self.error.as_ref().map(|error| error.code)
    }

    /// Whether something came back, so that the server lives: an error, or something broken, is an answer too.
    pub fn is_answer(&self) -> bool {
        let is_late = self.category() == ErrorCategory::Hang && self.reply.is_some();
        is_late
            || !matches!(
                self.category(),
                ErrorCategory::Timeout
                    | ErrorCategory::Hang
                    | ErrorCategory::Deadlock
                    | ErrorCategory::Crash
                    | ErrorCategory::Disconnected
                    | ErrorCategory::Cancelled
            )
    }

    /// Whether the answer was larger than the limit.
    pub fn is_oversized(&self) -> bool {
        self.failure.is_oversized()
    }

    /// Whether the server no longer knows our session.
    pub fn is_session_expired(&self) -> bool {
        self.failure.detail == Detail::SessionExpired
    }
}

/// The server had ended a session, and a call was made again on a new one; the message says how it ended.
#[stored]
pub struct SessionExpiredFact {
    /// The session.
    pub session: u32,
}

impl Fact for SessionExpiredFact {
    const NAME: &'static str = "session_expired";
}

/// A call ended with a connection that had carried answers before, and that the server closed without a byte of this
/// one. It may have closed it before the call arrived.
#[stored]
pub struct KeptConnectionFact {
    /// The phase of the call.
    pub phase: u16,
}

impl Fact for KeptConnectionFact {
    const NAME: &'static str = "kept_connection_closed";
}

/// A request that was sent. Await it for the answer; drop it to cancel.
#[must_use = "a call that is dropped is cancelled"]
#[derive(Opaque)]
pub struct Call(InFlight<Arc<Core>>);

impl Call {
    pub fn new(core: Arc<Core>, id: u64) -> Self {
        Self(InFlight::new(core, id, false))
    }

    /// The JSON-RPC id.
    pub fn request_id(&self) -> u64 {
        self.0.id
    }

    /// Gives it up, as dropping it does: the server is told, and a late answer is no violation.
    pub fn cancel(self) {}
}

impl Future for Call {
    type Output = Result<Reply, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

/// A request that was sent, by whoever holds its session: an own one or a borrowed one.
pub struct InFlight<C: Deref<Target = Core>> {
    core: C,
    id: u64,
    /// The waker of whoever awaits it was given when it was sent: there is nothing to ask yet.
    is_awaited: bool,
    is_settled: bool,
}

impl<C: Deref<Target = Core>> InFlight<C> {
    pub fn new(core: C, id: u64, is_awaited: bool) -> Self {
        Self {
            core,
            id,
            is_awaited,
            is_settled: false,
        }
    }
}

impl<C: Deref<Target = Core> + Unpin> Future for InFlight<C> {
    type Output = Result<Reply, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if std::mem::take(&mut self.is_awaited) {
            return Poll::Pending;
        }
        let outcome = self.core.poll_call(self.id, context.waker());
        if outcome.is_ready() {
            self.is_settled = true;
        }
        outcome
    }
}

impl<C: Deref<Target = Core>> Drop for InFlight<C> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.core.cancel(self.id, "the caller gave up");
        }
    }
}

/// How a request ended.
pub enum Ending {
    /// With this result: where it lies in the frame.
    Result(Bytes, Range<usize>),
    /// With this JSON-RPC error.
    Error(RpcError),
    /// On the way.
    Failure(Failure),
}

impl Ending {
    /// Whether the server answered, with whatever.
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Result(..) | Self::Error(_) => true,
            Self::Failure(failure) => matches!(
                failure.category,
                ErrorCategory::Malformed
                    | ErrorCategory::ServerError
                    | ErrorCategory::ProtocolError
            ),
        }
    }
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
                    None if waiting.hung.is_some() => (late(duration), Some(reply), None),
                    None => {
                        let kind = EventKind::Response {
                            request: self.key(id),
                            method: &label.method,
                            tool: label.tool(),
                            duration,
                            result: text,
                            tag: waiting.tag,
                        };
                        self.record(now, kind);
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
                if failure.detail == Detail::KeptConnection && label.tool().is_some() {
                    let phase = waiting.tag.phase;
                    self.recorder
                        .fact(&failure.message, &KeptConnectionFact { phase });
                }
                (failure, None, None)
            }
        };
        let mut failed = CallError::sent(failure, id, duration);
        failed.0.reply = reply;
        failed.0.error = error;
        if !(waiting.repeats && failed.is_session_expired()) {
            self.emit_error(label, &failed, waiting.tag, now);
        }
        Err(failed)
    }

    /// The terminal event of a call whose session had expired: we gave it up for another one, unless there is none.
    pub fn end_expired(
        &self,
        request: &Request,
        start: &Start<'_>,
        expired: &CallError,
        renewed: &Result<(), CallError>,
    ) {
        let mut told = expired.clone();
        if renewed.is_ok() {
            told.0.failure =
                Failure::cancelled("the session had expired, and the call is made again");
        }
        let tag = CallTag {
            phase: start.phase,
            ..CallTag::default()
        };
        self.emit_error(request.label(), &told, tag, Instant::now());
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
        if let Some(misfit) = &label.misfit {
            return Some(Failure::new(ErrorCategory::ProtocolError, misfit.clone()));
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

    pub fn emit_error(&self, label: &Label, error: &CallError, tag: CallTag, at: Instant) {
        let failure = CallFailure {
            code: error.code(),
            server_message: error.error.as_ref().map_or("", |error| &error.message),
            ..error.failure.as_event()
        };
        let kind = EventKind::Error {
            request: self.key(error.request_id),
            method: &label.method,
            tool: label.tool(),
            duration: error.duration,
            failure,
            tag,
        };
        self.record(at, kind);
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
