//! Why no session came about, and what to try.

use mcprove_settings::message::{Message, assignment};

use crate::prelude::*;

/// Why no session came about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server process could not be started.
    #[error(transparent)]
    Start(#[from] SpawnError),
    /// The server could not be reached, or the connection ended before it answered.
    #[error("{failure}")]
    Unreachable {
        /// Why.
        failure: Failure,
        /// The last of what it wrote to stderr.
        stderr: String,
    },
    /// The server did not answer in time.
    #[error("the server did not answer within {}", describe_duration(*waited))]
    Silent {
        /// How long was waited.
        waited: Duration,
        /// The last of what it wrote to stderr.
        stderr: String,
    },
    /// The server answered, but not with what the protocol asks for.
    #[error("initialize handshake failed: {failure}")]
    Handshake {
        /// What it answered.
        failure: Failure,
        /// Whether what it answered was a message, and one that breaks the protocol.
        is_violation: bool,
        /// The last of what it wrote to stderr.
        stderr: String,
    },
    /// The server does not let us in.
    #[error("the server refused access: {failure}")]
    Forbidden {
        /// What it answered.
        failure: Failure,
    },
    /// The server does not speak the revision that was asked for.
    #[error("the server speaks {offered}, not {asked}")]
    Revision {
        /// What was asked for.
        asked: Revision,
        /// What it offers.
        offered: String,
    },
}

impl From<Failure> for ConnectError {
    fn from(failure: Failure) -> Self {
        Self::Unreachable {
            failure,
            stderr: String::new(),
        }
    }
}

impl UserError for ConnectError {
    fn hint(&self) -> Message {
        if let Some(limit) = self.own_limit() {
            return limit.hint();
        }
        match self {
            Self::Start(error) => error.hint(),
            Self::Unreachable { failure, .. } if failure.category == ErrorCategory::Crash => {
                sentence!(
                    "the server crashed before responding; its stderr says why{}",
                    tee_stderr()
                )
            }
            Self::Unreachable { .. } => sentence!(
                "check that the server runs and that the address is right ({} for HTTP+SSE servers)",
                assignment("transport", "sse")
            ),
            Self::Silent { .. } => sentence!(
                "raise {} if the server needs longer to start, or read its stderr{}",
                setting("startup_timeout"),
                tee_stderr()
            ),
            Self::Handshake { failure, .. } if failure.is_oversized() => {
                ErrorCategory::Malformed.hint()
            }
            Self::Handshake { failure, .. } if matches!(failure.detail, Detail::Status(_)) => {
                "check the path of the address: an MCP endpoint often ends in /mcp or /sse".into()
            }
            Self::Handshake { .. } if self.is_violation() => {
                "answer each request with its own id and the result that its method asks for".into()
            }
            Self::Handshake { .. } => sentence!(
                "check that this is an MCP server, and try another {}",
                setting("protocol")
            ),
            Self::Forbidden { .. } => sentence!(
                "give what it asks for, such as {}",
                assignment("headers", "\"Authorization: Bearer …\"")
            ),
            Self::Revision { .. } => sentence!(
                "use {}, or one that the server offers",
                assignment("protocol", "auto")
            ),
        }
    }

    fn exit_code(&self) -> u8 {
        if self.is_violation() { 1 } else { 2 }
    }

    fn stderr(&self) -> &str {
        match self {
            Self::Unreachable { stderr, .. }
            | Self::Silent { stderr, .. }
            | Self::Handshake { stderr, .. } => stderr,
            Self::Start(_) | Self::Forbidden { .. } | Self::Revision { .. } => "",
        }
    }
}

impl ConnectError {
    /// What happened.
    pub fn message(&self) -> Message {
        match self {
            Self::Start(error) => error.message().clone(),
            other => other.to_string().into(),
        }
    }

    /// What this process ran out of, if it is that: the server has no part in it.
    pub fn own_limit(&self) -> Option<OwnLimit> {
        match self {
            Self::Start(error) => error.own_limit(),
            Self::Unreachable { failure, .. } | Self::Handshake { failure, .. } => {
                failure.own_limit()
            }
            _ => None,
        }
    }

    /// The category that it has as a failed start of a run.
    pub fn category(&self) -> ErrorCategory {
        match self {
            // A program that does not even start is as gone as one that ends at once.
            Self::Start(_) => ErrorCategory::Crash,
            Self::Silent { .. } => ErrorCategory::Timeout,
            Self::Revision { .. } => ErrorCategory::ProtocolError,
            Self::Unreachable { failure, .. }
            | Self::Handshake { failure, .. }
            | Self::Forbidden { failure } => failure.category,
        }
    }

    /// The HTTP status that the server answered with, if it is that.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Unreachable { failure, .. }
            | Self::Handshake { failure, .. }
            | Self::Forbidden { failure } => match failure.detail {
                Detail::Status(status) => Some(status),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the server was started or reached, and did not answer.
    pub fn is_silence(&self) -> bool {
        match self {
            Self::Silent { .. } => true,
            Self::Unreachable { failure, .. } => failure.category == ErrorCategory::Timeout,
            _ => false,
        }
    }

    /// Whether the server was reached and broke the protocol.
    pub fn is_violation(&self) -> bool {
        matches!(
            self,
            Self::Handshake {
                is_violation: true,
                ..
            }
        )
    }
}
