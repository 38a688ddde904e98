//! Comparing values for `exact`, `contains` and `subset`: whether a value equals the given one, or has it in
//! it, and where it does not.
//!
//! A text is in a text that has it somewhere. A map is in a map that has each of its keys, with
//! values that hold the given ones. A list is in a list that has for each of its elements one of its
//! own that holds it, in any order ([maximum matching](crate::matching)). Anything else is in what
//! equals it.

use std::fmt::Write;

use mcprove_trace::canonical::equal;

use crate::gate::path::key_step;
use crate::matching::unmatched;
use crate::prelude::*;

/// Whether a value has the given one in it.
pub fn is_in(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::String(part), Value::String(text)) => text.contains(part.as_str()),
        (Value::Object(expected), Value::Object(actual)) => expected
            .iter()
            .all(|(key, part)| actual.get(key).is_some_and(|value| is_in(part, value))),
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() <= actual.len() && missing(expected, actual).is_empty()
        }
        _ => equal(expected, actual),
    }
}

/// The elements that have none of their own.
///
/// Equal ones are paired off first, which takes nobody's partner: what is in one of them is in whatever
/// has the other in it. So long lists that are alike are not compared each with each.
fn missing<'a>(expected: &'a [Value], actual: &[Value]) -> Vec<&'a Value> {
    let mut equals: BTreeMap<String, usize> = BTreeMap::new();
    for value in expected {
        *equals.entry(canonical::text(value)).or_default() += 1;
    }
    // One that has an equal on the other side takes it, and is left out.
    let mut is_left = |value: &&Value| match equals.get_mut(&canonical::text(value)) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let rest: Vec<&Value> = actual.iter().filter(&mut is_left).collect();
    // From the end, so that the earliest are the ones that are paired.
    let mut wanting: Vec<&Value> = expected
        .iter()
        .rev()
        .filter(|value| !is_left(value))
        .collect();
    wanting.reverse();
    let fits = |place: usize, partner: usize| is_in(wanting[place], rest[partner]);
    unmatched(wanting.len(), rest.len(), fits)
        .into_iter()
        .map(|place| wanting[place])
        .collect()
}

/// Where a value differs from the given one; `is_part` where it may have more than that.
pub fn difference(expected: &Value, actual: &Value, is_part: bool) -> Difference {
    let mut places = Places::default();
    find((Some(expected), Some(actual)), is_part, "", &mut places);
    places
        .into_difference()
        .unwrap_or_else(|| Difference::whole(expected.clone(), actual, &short(expected).into()))
}

/// Notes where what is in one place differs from what must be there; either may be nothing.
fn find(pair: (Option<&Value>, Option<&Value>), is_part: bool, path: &str, places: &mut Places) {
    if places.is_full() {
        return;
    }
    let mut add = |expected: &Value, actual: Option<&Value>, words: Message| {
        places.add(path, expected.clone(), actual, words);
    };
    let (expected, actual) = match pair {
        (Some(expected), Some(actual)) => (expected, actual),
        (Some(expected), None) => {
            let words = sentence!("expected {}, but it is missing", short(expected));
            return add(expected, None, words);
        }
        (None, actual) => {
            let words = sentence!(
                "expected nothing, got {}",
                short(actual.unwrap_or(&Value::Null))
            );
            return add(&Value::Null, actual, words);
        }
    };
    let holds = if is_part { is_in } else { equal };
    if holds(expected, actual) {
        return;
    }
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            let others = actual.keys().filter(|_| !is_part);
            let keys: BTreeSet<&String> = expected.keys().chain(others).collect();
            for key in keys {
                let path = format!("{path}{}", key_step(key));
                find((expected.get(key), actual.get(key)), is_part, &path, places);
            }
        }
        (Value::Array(expected), Value::Array(actual)) if !is_part => {
            for index in 0..expected.len().max(actual.len()) {
                let pair = (expected.get(index), actual.get(index));
                find(pair, is_part, &format!("{path}[{index}]"), places);
            }
        }
        (Value::Array(expected), Value::Array(items)) => {
            for part in missing(expected, items) {
                let (holds, got) = (holds_it(part), short(actual));
                let words = sentence!("expected another element that {holds}, got {got}");
                add(part, Some(actual), words);
            }
        }
        (Value::String(_), Value::String(_)) if is_part => {
            let (holds, got) = (holds_it(expected), short(actual));
            let words = sentence!("expected a text that {holds}, got {got}");
            add(expected, Some(actual), words);
        }
        _ => add(expected, Some(actual), expected_got(expected, actual)),
    }
}

/// `contains "x"` of what can be in something, else `is 5`.
pub fn holds_it(part: &Value) -> Message {
    match part {
        Value::String(_) | Value::Array(_) | Value::Object(_) => {
            sentence!("contains {}", short(part))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => sentence!("is {}", short(part)),
    }
}

// Where and how a value differs from what it must be.

/// Places that a message tells; the rest is only mentioned.
pub const PLACES_MAX: usize = 3;

/// Characters of a value in a message.
const VALUE_CHARS_MAX: usize = 120;

/// Characters that long texts have in common before a message begins where they differ.
const COMMON_CHARS_MAX: usize = 60;

/// Characters shown before the first difference of long texts.
const CONTEXT_CHARS: usize = 20;

/// Where and how a value differs from what it must be.
#[data]
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
        formatter.write_str(&self.message.rendered())
    }
}

impl Difference {
    /// A difference of the value itself: `expected …, got …`.
    pub fn whole(expected: Value, actual: &Value, words: &Message) -> Self {
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
fn expected_got(expected: &Value, actual: &Value) -> Message {
    if let (Value::String(one), Value::String(other)) = (expected, actual) {
        let common = common_chars(one, other);
        if common > COMMON_CHARS_MAX {
            let from = |text: &str| {
                let tail: String = text.chars().skip(common - CONTEXT_CHARS).collect();
                format!("…{}", short(&Value::String(tail)))
            };
            return sentence!(
                "expected {}, got {}, which differs from character {} on",
                from(one),
                from(other),
                common + 1
            );
        }
    }
    sentence!("expected {}, got {}", short(expected), short(actual))
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
