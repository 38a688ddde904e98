//! What can be wrong with a matcher.

/// Why a matcher cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if place.is_empty() { String::new() } else { format!("{place}: ") })]
pub struct MatcherError {
    place: String,
    position: Option<usize>,
    message: String,
    hint: String,
}

impl MatcherError {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            place: String::new(),
            position: None,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// The same, at a character of the pattern.
    pub(crate) fn at(mut self, position: usize) -> Self {
        self.position = Some(position);
        self
    }

    /// The same, inside something: `not`, `[1]`.
    pub(crate) fn inside(mut self, outer: &str) -> Self {
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
