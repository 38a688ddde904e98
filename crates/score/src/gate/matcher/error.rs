//! What can be wrong with a matcher.

use std::fmt;

/// Why a matcher cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatcherError {
    place: String,
    position: Option<usize>,
    message: String,
    hint: String,
}

impl MatcherError {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            place: String::new(),
            position: None,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// The same, at a character of the pattern.
    pub fn at(mut self, position: usize) -> Self {
        self.position = Some(position);
        self
    }

    /// The same, inside something: `not`, `[1]`.
    pub fn inside(mut self, outer: &str) -> Self {
        let dot = if self.place.is_empty() || self.place.starts_with('[') {
            ""
        } else {
            "."
        };
        self.place = format!("{outer}{dot}{}", self.place);
        self
    }

    /// Where in the matcher it is: `all_of[1].regex`; empty for the matcher itself.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Where in a pattern it is, in characters, counted from 1.
    pub fn position(&self) -> Option<usize> {
        self.position
    }

    /// What to try.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl fmt::Display for MatcherError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(formatter, "{}: ", self.place)?;
        }
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for MatcherError {}
