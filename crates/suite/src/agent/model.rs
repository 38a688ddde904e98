//! What a model provider is asked and what it answers, as bytes.

use crate::prelude::*;

/// One request to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRequest {
    /// The address behind the base: `/v1/messages`.
    pub path: String,
    /// The body, without secrets: keys travel in headers, which are the wire's own business.
    pub body: Vec<u8>,
    /// How long the answer may take.
    pub timeout: Duration,
}

/// What a provider answered, whatever the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelReply {
    /// The HTTP status.
    pub status: u16,
    /// How long to wait before another try, if the provider says so.
    pub retry_after: Option<Duration>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    /// How long it took.
    pub duration: Duration,
}

/// Why there was no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError {
    /// What happened.
    pub kind: WireErrorKind,
    /// How long it took.
    pub duration: Duration,
}

/// What happened in the place of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireErrorKind {
    /// The provider cannot be reached, or broke off.
    Unreachable(String),
    /// Nothing listens where the provider should be.
    Refused(String),
    /// The answer did not come in time.
    Timeout,
    /// What another try would not change: the answer is larger than any that is read, or a recording has no answer to
    /// this request.
    Final(Diagnostic),
}

/// The way to a provider: the network, or a recording.
pub trait ModelWire: Send + Sync {
    /// Asks, once: whoever wants another try asks again.
    fn send<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<ModelReply, WireError>>;

    /// Waits before another try; a recording does not.
    fn wait(&self, duration: Duration) -> BoxFuture<'_, ()>;
}
