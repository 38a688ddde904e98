//! Where and how a value differs from what it must be.

use std::fmt::{self, Write};

use crate::prelude::*;

/// Places that a message tells; the rest is only mentioned.
pub const PLACES_MAX: usize = 3;

/// Characters of a value in a message.
const VALUE_CHARS_MAX: usize = 120;

/// Characters that long texts have in common before a message begins where they differ.
const COMMON_CHARS_MAX: usize = 60;

/// Characters shown before the first difference of long texts.
const CONTEXT_CHARS: usize = 20;

/// Where and how a value differs from what it must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What must be at the path.
    pub expected: Value,
    /// What is there; null where nothing is.
    pub actual: Value,
    /// The first place inside the value that differs, as a path goes on: `.city`, `[2].name`;
    /// empty for the value itself.
    pub path: String,
    /// The first few places, in plain words, with long values shortened.
    pub message: Message,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message.text())
    }
}

impl Difference {
    /// A difference of the value itself: `expected …, got …`.
    pub(super) fn whole(expected: Value, actual: &Value, words: &Message) -> Self {
        Self {
            expected,
            actual: actual.clone(),
            path: String::new(),
            message: sentence!("expected {words}, got {}", short(actual)),
        }
    }
}

/// The places found so far; only the first few are kept, and one more to tell that there are others.
#[derive(Default)]
pub struct Places(Vec<Difference>);

impl Places {
    /// Whether another place would only be mentioned.
    pub fn is_full(&self) -> bool {
        self.0.len() > PLACES_MAX
    }

    /// Notes a place; `words` say what differs there.
    pub fn add(
        &mut self,
        path: &str,
        expected: Value,
        actual: Option<&Value>,
        words: impl Into<Message>,
    ) {
        if self.is_full() {
            return;
        }
        let words = words.into();
        let message = if path.is_empty() {
            words
        } else {
            sentence!("at {path}: {words}")
        };
        self.0.push(Difference {
            expected,
            actual: actual.cloned().unwrap_or_default(),
            path: path.to_owned(),
            message,
        });
    }

    /// The first place, with the words of the others; `None` if there is none.
    pub fn into_difference(mut self) -> Option<Difference> {
        if let Some(other) = self.0.get_mut(PLACES_MAX) {
            other.message = "and more".into();
        }
        let message = Message::join(self.0.iter().map(|place| place.message.clone()), "; ");
        let first = self.0.into_iter().next()?;
        Some(Difference { message, ..first })
    }
}

/// `expected …, got …`; long texts from shortly before their first difference.
pub fn expected_got(expected: &Value, actual: &Value) -> String {
    if let (Value::String(one), Value::String(other)) = (expected, actual) {
        let common = common_chars(one, other);
        if common > COMMON_CHARS_MAX {
            let from = |text: &str| {
                let tail: String = text.chars().skip(common - CONTEXT_CHARS).collect();
                format!("…{}", short(&Value::String(tail)))
            };
            return format!(
                "expected {}, got {}, which differs from character {} on",
                from(one),
                from(other),
                common + 1
            );
        }
    }
    format!("expected {}, got {}", short(expected), short(actual))
}

/// A value as JSON, on one line and cut where it gets long.
pub fn short(value: &Value) -> String {
    let mut line = Line {
        text: String::new(),
        room: VALUE_CHARS_MAX,
    };
    if write!(line, "{value}").is_err() {
        line.text.push('…');
    }
    line.text
}

/// A text that takes no more than it has room for, so that a huge value is not written out.
struct Line {
    text: String,
    room: usize,
}

impl Write for Line {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        for character in more.chars() {
            self.room = self.room.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(character);
        }
        Ok(())
    }
}
