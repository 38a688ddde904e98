//! What came back to a bad request, and whether that keeps the contract.

use mcprove_client::session::{CallError, Reply};
use mcprove_client::transport::Detail;
use mcprove_trace::prelude::*;

/// How much of an answer is told.
const ANSWER_CHARACTERS_MAX: usize = 300;

/// What must come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contract {
    /// A JSON-RPC error, or a result with `isError`.
    Rejection,
    /// Anything at all.
    Return,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A result: it was accepted.
    Accepted(String),
    /// A JSON-RPC error, or a result with `isError`.
    Rejected(String),
    /// An HTTP status that is no success, without a JSON-RPC error.
    Refused(String),
    /// Something that is no message of the protocol.
    Broken {
        /// What is wrong with it.
        message: String,
        /// Whether it was the answer to the request, for all that.
        is_answer: bool,
    },
    /// Nothing in time.
    Hung(String),
    /// The end of the server, or of the connection.
    Died(String),
    /// Nothing that says anything: the call was ended by ourselves.
    Unclear(String),
}

impl Answer {
    pub fn of(outcome: &Result<Reply, CallError>) -> Self {
        let error = match outcome {
            Ok(reply) => return Self::Accepted(shorten(reply.result(), ANSWER_CHARACTERS_MAX)),
            Err(error) => error,
        };
        let message = shorten(&error.to_string(), ANSWER_CHARACTERS_MAX);
        match error.category() {
            ErrorCategory::ToolError => Self::Rejected(format!("isError: {message}")),
            ErrorCategory::ServerError | ErrorCategory::ProtocolError => {
                match error.failure.detail {
                    Detail::Status(_) | Detail::SessionExpired if error.error.is_none() => {
                        Self::Refused(message)
                    }
                    _ => Self::Rejected(format!("an error: {message}")),
                }
            }
            ErrorCategory::Timeout | ErrorCategory::Hang | ErrorCategory::Deadlock => {
                Self::Hung(message)
            }
            ErrorCategory::Crash | ErrorCategory::Disconnected => Self::Died(message),
            ErrorCategory::Malformed => Self::Broken {
                message,
                is_answer: error.reply.is_some(),
            },
            ErrorCategory::Cancelled => Self::Unclear(message),
        }
    }

    /// Whether the session is of no more use.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Hung(_) | Self::Died(_))
    }

    /// What came back, without a word of what the server said.
    pub const fn in_short(&self) -> &'static str {
        match self {
            Self::Accepted(_) => "the tool accepted it",
            Self::Rejected(_) => "it was rejected",
            Self::Refused(_) => "it was refused without a JSON-RPC error",
            Self::Broken { .. } => "the answer is malformed",
            Self::Hung(_) => "the call hung",
            Self::Died(_) => "the server did not survive it",
            Self::Unclear(_) => "the call was ended",
        }
    }

    /// Why the contract is not kept; nothing if it is.
    pub fn breach(&self, contract: Contract) -> Option<String> {
        let may_be_anything = contract == Contract::Return;
        match self {
            Self::Rejected(_) | Self::Unclear(_) => None,
            Self::Accepted(_)
            | Self::Refused(_)
            | Self::Broken {
                is_answer: true, ..
            } if may_be_anything => None,
            Self::Accepted(said)
            | Self::Refused(said)
            | Self::Broken { message: said, .. }
            | Self::Hung(said)
            | Self::Died(said) => Some(format!("{}: {said}", self.in_short())),
        }
    }
}
