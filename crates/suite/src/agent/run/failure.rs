//! What keeps a run from its end, and is not the agent's doing.

use mcprove_settings::message::{message, setting};
use thiserror::Error;

use crate::agent::provider::AnswerError;
use crate::error::TestError;

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
    #[error("the model gave no answer in {tries} {}, the last time: {message}", if *tries == 1 { "try" } else { "tries" })]
    Unanswered {
        /// How often it was tried.
        tries: u32,
        /// The HTTP status of the last time, if there was one.
        status: Option<u16>,
        /// What happened the last time.
        message: String,
    },
    /// The answer is larger than any that is read.
    #[error("the answer of the model provider is larger than {limit} bytes, and more is not read")]
    TooLarge {
        /// The most bytes that are read.
        limit: usize,
    },
    /// The provider answered something else.
    #[error(transparent)]
    NotUnderstood(#[from] AnswerError),
    /// A recording has no answer to a request or a call.
    #[error(transparent)]
    NotRecorded(TestError),
}

impl RunFailure {
    /// What to try.
    pub fn hint(&self) -> String {
        match self {
            Self::Refused { status, .. } => match status {
                401 | 403 => {
                    "check the key, and that it may use this model; a base_url of the suite gets one only with api_key_env"
                },
                404 => "check the name of the model and base_url",
                400 | 422 => {
                    "the provider does not take this request: check model, max_tokens, temperature and the schemas of the tools"
                }
                413 => "the conversation is too large for the provider: ask for less, or of fewer tools",
                300..=399 => "give the address that the provider redirects to as base_url",
                _ => "try again later, or with fewer tests at once",
            }
            .to_owned(),
            Self::Unanswered { status, .. } => match status {
                Some(429) => {
                    return message![
                        "the provider takes no more requests of this key for now: run fewer tests at once with ",
                        setting("jobs"),
                        ", raise the limits of the account, or try again later"
                    ]
                    .text();
                }
                Some(_) => "the provider is in trouble or overloaded: try again later",
                None => "check base_url and the network, or try again later",
            }
            .to_owned(),
            Self::TooLarge { .. } => {
                "check that base_url is of a model provider, or lower max_tokens".to_owned()
            }
            Self::NotUnderstood(_) => {
                "check that base_url is of the provider that `provider` says".to_owned()
            }
            Self::NotRecorded(missing) => missing.hint.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_try_depends_on_what_happened() {
        let failure = |tries, status| RunFailure::Unanswered {
            tries,
            status,
            message: "no".to_owned(),
        };
        assert!(failure(1, None).to_string().contains("in 1 try,"));
        assert!(failure(5, None).to_string().contains("in 5 tries,"));
        assert!(failure(5, None).hint().contains("base_url"));
        assert!(failure(5, Some(429)).hint().contains("`jobs`"));
        assert!(!failure(5, Some(529)).hint().contains("base_url"));
    }
}
