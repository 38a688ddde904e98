//! Why a test cannot be carried out, in words: the server, the model or the recording that it needs is not there.

use mcprove_score::gate::ScoreError;
use mcprove_settings::message::{Message, sentence};
use thiserror::Error;

use crate::plan::FillError;

/// Why a test cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", message.text())]
pub struct TestError {
    /// What happened.
    pub message: Message,
    /// What to try.
    pub hint: Message,
}

/// What to do about a variable that is not set.
pub(crate) const SET_VARIABLE: &str = "set the variable, or write ${NAME:-otherwise}";

impl TestError {
    /// With what to try.
    pub fn new(message: impl Into<Message>, hint: impl Into<Message>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

/// What to do about a text that cannot be filled in; for a variable that is not set, with another way.
pub(crate) fn fill_hint(error: &FillError, or: impl Fn(&str) -> Message) -> Message {
    match error {
        FillError::Unset(name) => sentence!("set {name} in the environment{}", or(name)),
        FillError::Open(_) => sentence!("close it with `}}`, or write `$${{` for the characters"),
    }
}

/// As the report of a test has it.
impl From<TestError> for ScoreError {
    fn from(TestError { message, hint }: TestError) -> Self {
        Self {
            target: None,
            run: None,
            message,
            hint,
        }
    }
}

/// The last lines of a text.
pub(crate) fn last_lines(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let first = lines.len().saturating_sub(most);
    lines.get(first..).unwrap_or_default().join("\n")
}

/// A message, and what a program wrote to stderr, if it wrote anything.
pub(crate) fn with_stderr(message: impl Into<Message>, stderr: &str) -> Message {
    let message = message.into();
    if stderr.trim().is_empty() {
        return message;
    }
    sentence!("{message}; its stderr ends with:\n{stderr}")
}
