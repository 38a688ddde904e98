//! What keeps a run from its end, and is not the agent's doing.

use thiserror::Error;

use crate::agent::provider::AnswerError;

/// What kept a run from its end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RunFailure {
    /// The provider refused the request.
    #[error("the model provider answered with HTTP {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it says.
        message: String,
    },
    /// The provider could not be asked, often enough.
    #[error("the model gave no answer in {tries} tries, the last time: {message}")]
    Unanswered {
        /// How often it was tried.
        tries: u32,
        /// What happened the last time.
        message: String,
    },
    /// The provider answered something else.
    #[error(transparent)]
    NotUnderstood(#[from] AnswerError),
    /// A recording has no answer to a request or a call.
    #[error("{message}")]
    NotRecorded {
        /// What is missing.
        message: String,
        /// What to try.
        hint: String,
    },
}

impl RunFailure {
    /// What to try.
    pub fn hint(&self) -> String {
        match self {
            Self::Refused { status, .. } => match status {
                401 | 403 => "check the key, and that it may use this model",
                404 => "check the name of the model and base_url",
                400 | 422 => {
                    "the provider does not take this request: check model, max_tokens, temperature and the schemas of the tools"
                }
                413 => "the conversation is too large for the provider: ask for less, or of fewer tools",
                300..=399 => "give the address that the provider redirects to as base_url",
                _ => "try again later, or with fewer tests at once",
            }
            .to_owned(),
            Self::Unanswered { .. } => {
                "check base_url and the network, or try again later".to_owned()
            }
            Self::NotUnderstood(_) => {
                "check that base_url is of the provider that `provider` says".to_owned()
            }
            Self::NotRecorded { hint, .. } => hint.clone(),
        }
    }
}
