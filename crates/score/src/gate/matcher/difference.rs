//! Where and how a value differs from what it must be.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::gate::path::push_key;

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
    pub message: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Difference {
    /// A difference of the value itself: `expected …, got …`.
    pub(super) fn whole(expected: Value, actual: &Value, words: &str) -> Self {
        Self {
            expected,
            actual: actual.clone(),
            path: String::new(),
            message: format!("expected {words}, got {}", short(actual)),
        }
    }
}

/// The places found so far; only the first few are kept.
#[derive(Default)]
pub struct Places {
    first: Vec<Difference>,
    is_more: bool,
}

impl Places {
    /// Whether another place would only be mentioned.
    pub fn is_full(&self) -> bool {
        self.is_more
    }

    /// Notes a place; `words` say what differs there.
    pub fn add(&mut self, path: &str, expected: Value, actual: Option<&Value>, words: String) {
        if self.first.len() >= PLACES_MAX {
            self.is_more = true;
            return;
        }
        self.first.push(Difference {
            expected,
            actual: actual.cloned().unwrap_or_default(),
            path: path.to_owned(),
            message: if path.is_empty() {
                words
            } else {
                format!("at {path}: {words}")
            },
        });
    }

    /// The first place, with the words of the others; `None` if there is none.
    pub fn into_difference(self) -> Option<Difference> {
        let mut messages: Vec<String> = self
            .first
            .iter()
            .map(|place| place.message.clone())
            .collect();
        if self.is_more {
            messages.push("and more".to_owned());
        }
        let mut first = self.first.into_iter().next()?;
        first.message = messages.join("; ");
        Some(first)
    }
}

/// Notes where a value differs from what it must be, below a path.
pub type Find = fn(&Value, &Value, &mut String, &mut Places);

/// Where a value differs from what it must be, by these rules.
pub fn differences(expected: &Value, actual: &Value, find: Find) -> Difference {
    let mut places = Places::default();
    find(expected, actual, &mut String::new(), &mut places);
    places
        .into_difference()
        .unwrap_or_else(|| Difference::whole(expected.clone(), actual, &short(expected)))
}

/// Compares what must be in one place with what is, where either may be nothing.
pub fn compare_there(
    expected: Option<&Value>,
    actual: Option<&Value>,
    path: &mut String,
    places: &mut Places,
    find: Find,
) {
    match (expected, actual) {
        (Some(expected), Some(actual)) => find(expected, actual, path, places),
        (Some(expected), None) => {
            let words = format!("expected {}, but it is missing", short(expected));
            places.add(path, expected.clone(), None, words);
        }
        (None, Some(actual)) => {
            let words = format!("expected nothing, got {}", short(actual));
            places.add(path, Value::Null, Some(actual), words);
        }
        (None, None) => {}
    }
}

/// Compares two maps at these keys.
pub fn compare_members(
    keys: BTreeSet<&String>,
    (expected, actual): (&Map<String, Value>, &Map<String, Value>),
    path: &mut String,
    places: &mut Places,
    find: Find,
) {
    for key in keys {
        if places.is_full() {
            return;
        }
        let end = path.len();
        push_key(path, key);
        compare_there(expected.get(key), actual.get(key), path, places, find);
        path.truncate(end);
    }
}

/// `expected …, got …`; long texts from shortly before their first difference.
pub fn expected_got(expected: &Value, actual: &Value) -> String {
    if let (Value::String(one), Value::String(other)) = (expected, actual) {
        let common = one
            .chars()
            .zip(other.chars())
            .take_while(|(a, b)| a == b)
            .count();
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
