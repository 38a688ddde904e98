//! Why a test cannot be carried out, in words: the server, the model or the recording that it needs is not there.

use crate::prelude::*;

impl UserError for FillError {
    fn hint(&self) -> Message {
        match self {
            Self::Unset(name) => sentence!(
                "set {name} in the environment, name it under `variables`, or write ${{{name}:-a default}}"
            ),
            Self::Open(_) => sentence!("close it with `}}`, or write `$${{` for the characters"),
        }
    }
}

impl FillError {
    /// That this cannot be filled in.
    pub fn of(&self, what: impl fmt::Display) -> Diagnostic {
        Diagnostic::new(sentence!("{what}: {self}"), self.hint())
    }
}

impl From<FillError> for Diagnostic {
    fn from(error: FillError) -> Self {
        Self::new(error.to_string(), error.hint())
    }
}

pub fn last_lines(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let first = lines.len().saturating_sub(most);
    lines.get(first..).unwrap_or_default().join("\n")
}

/// A message, and what a program wrote to stderr, if it wrote anything.
pub fn with_stderr(message: impl Into<Message>, stderr: &str) -> Message {
    let message = message.into();
    if stderr.trim().is_empty() {
        return message;
    }
    sentence!("{message}; its stderr ends with:\n{stderr}")
}

/// Whether a call failed because no answer came.
pub const fn is_unanswered(category: ErrorCategory) -> bool {
    matches!(
        category,
        ErrorCategory::Timeout | ErrorCategory::Hang | ErrorCategory::Deadlock
    )
}

/// Whether a call failed because its server is gone.
pub const fn is_gone(category: ErrorCategory) -> bool {
    matches!(category, ErrorCategory::Crash | ErrorCategory::Disconnected)
}
