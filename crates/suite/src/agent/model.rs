//! What a model provider is asked and what it answers, as bytes.

use std::pin::Pin;
use std::time::Duration;

use thiserror::Error;

use crate::error::TestError;

/// Something that is ready later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

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
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WireError {
    /// The provider cannot be reached, or broke off.
    #[error("{message}")]
    Unreachable {
        /// What happened.
        message: String,
        /// How long it took.
        duration: Duration,
    },
    /// Nothing listens where the provider should be.
    #[error("{message}")]
    Refused {
        /// What happened.
        message: String,
        /// How long it took.
        duration: Duration,
    },
    /// The answer is larger than any that is read, and would be again.
    #[error("the answer is larger than {limit} bytes, and more is not read")]
    TooLarge {
        /// The most bytes that are read.
        limit: usize,
        /// How long it took.
        duration: Duration,
    },
    /// The answer did not come in time.
    #[error("the model did not answer within {0:?}")]
    Timeout(Duration),
    /// A recording has no answer to this request: it names the nearest one, and the difference.
    #[error(transparent)]
    NotRecorded(TestError),
}

impl WireError {
    /// How long it took.
    pub(super) const fn duration(&self) -> Duration {
        match self {
            Self::Unreachable { duration, .. }
            | Self::Refused { duration, .. }
            | Self::TooLarge { duration, .. }
            | Self::Timeout(duration) => *duration,
            Self::NotRecorded(_) => Duration::ZERO,
        }
    }

    /// The same, where it took this long.
    pub(super) fn lasting(mut self, lasted: Duration) -> Self {
        match &mut self {
            Self::Unreachable { duration, .. }
            | Self::Refused { duration, .. }
            | Self::TooLarge { duration, .. }
            | Self::Timeout(duration) => *duration = lasted,
            Self::NotRecorded(_) => {}
        }
        self
    }
}

/// The way to a provider: the network, or a recording.
pub trait ModelWire: Send + Sync {
    /// Asks, once: whoever wants another try asks again.
    fn send<'a>(&'a self, request: &'a ModelRequest) -> Later<'a, Result<ModelReply, WireError>>;

    /// Waits before another try; a recording does not.
    fn wait(&self, duration: Duration) -> Later<'_, ()>;
}
