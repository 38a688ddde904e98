//! A call in flight, and what comes of it.

use std::future::Future;
use std::ops::{Deref, DerefMut, Range};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use mcprove_trace::ErrorCategory;
use mcprove_trace::protocol::{RpcError, parse_bounded};
use serde::de::DeserializeOwned;

use super::core::Core;
use crate::transport::{Detail, Failure};

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
        #[derive(serde::Deserialize)]
        struct Result {
            #[serde(default)]
            content: Vec<serde_json::Value>,
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
    pub(super) fn refused(&self, failure: Failure) -> CallError {
        let mut error = CallError::sent(failure, self.request_id, self.duration);
        error.reply = Some(self.clone());
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

impl Deref for CallError {
    type Target = FailedCall;

    fn deref(&self) -> &FailedCall {
        &self.0
    }
}

impl DerefMut for CallError {
    fn deref_mut(&mut self) -> &mut FailedCall {
        &mut self.0
    }
}

impl CallError {
    pub fn unsent(failure: Failure) -> Self {
        Self::sent(failure, 0, Duration::ZERO)
    }

    pub(super) fn sent(failure: Failure, request_id: u64, duration: Duration) -> Self {
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

    /// Whether the answer was larger than the limit.
    pub fn is_oversized(&self) -> bool {
        matches!(self.failure.detail, Detail::Oversized { .. })
    }

    /// Whether the server no longer knows our session.
    pub fn is_session_expired(&self) -> bool {
        self.failure.detail == Detail::SessionExpired
    }
}

/// A request that was sent. Await it for the answer; drop it to cancel.
#[must_use = "a call that is dropped is cancelled"]
pub struct Call(InFlight<Arc<Core>>);

impl Call {
    pub(crate) fn new(core: Arc<Core>, id: u64) -> Self {
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
