//! Why a cassette cannot be used.

use mcprove_settings::message::{Message, message, setting};
use thiserror::Error;

/// Why a cassette cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CassetteError {
    /// The file cannot be read or written.
    #[error("{file}: {action}: {message}")]
    File {
        /// The file.
        file: String,
        /// What cannot be done.
        action: &'static str,
        /// What the system says.
        message: String,
    },
    /// It is larger than any recording.
    #[error("{file}: the cassette has {bytes} bytes, and {most} is the most")]
    TooLarge {
        /// The file.
        file: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// It is no cassette, or not a whole one.
    #[error("{place}: not a cassette: {message}")]
    Broken {
        /// The file, and where in it.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// It is a recording of something else.
    #[error("{file}: the cassette no longer fits: {changes}")]
    Drift {
        /// The file.
        file: String,
        /// What changed, from what to what.
        changes: String,
    },
    /// It is of an agent of another suite.
    #[error("{file}: the cassette is of the suite {suite:?}, and would be overwritten")]
    OtherSuite {
        /// The file.
        file: String,
        /// The suite that it is of.
        suite: String,
    },
    /// Two tests would have the same file.
    #[error("the agents {one:?} and {other:?} would have the same cassette, {file}")]
    SameFile {
        /// The file.
        file: String,
        /// The one test.
        one: String,
        /// The other.
        other: String,
    },
}

impl CassetteError {
    /// What to try.
    pub fn hint(&self) -> Message {
        match self {
            Self::File { .. } => message!["check the path and its permissions, or run with ", setting("live")],
            Self::TooLarge { .. } | Self::Broken { .. } => record_or_live(),
            Self::Drift { .. } => record_or_live().then(" to leave the cassette aside"),
            Self::OtherSuite { .. } => {
                "give one of the agents another name; if the suite was renamed, remove the cassette first".into()
            }
            Self::SameFile { .. } => "give one of them another name".into(),
        }
    }
}

/// What to try when a recording has no answer.
pub(super) fn record_or_live() -> Message {
    message![
        "record it again with ",
        setting("record"),
        ", or run with ",
        setting("live")
    ]
}
