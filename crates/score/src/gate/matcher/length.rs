//! `length`: how long the value is: a text in characters, a list in elements, a map in keys.

use std::sync::Arc;

use mcprove_settings::number::count;
use mcprove_settings::phrase;
use mcprove_settings::registry::nearest;
use serde_json::{Map, Value};

use super::difference::short;
use super::{Answer, Difference, Entry, MatcherError, Rule};

const HINT: &str = "write { length: 3 }, or { length: { min: 1, max: 3 } }";

pub const ENTRY: Entry = Entry {
    name: "length",
    explanation: "the value is a text, list or map as long as given: a number, or min and max",
    read,
};

#[derive(Debug)]
struct Length {
    given: Value,
    min: u64,
    max: Option<u64>,
}

fn read(given: &Value) -> Result<Arc<dyn Rule>, MatcherError> {
    let (min, max) = match given {
        Value::Object(bounds) => read_bounds(bounds)?,
        other => {
            let exact = whole(other)?;
            (exact, Some(exact))
        }
    };
    if let Some(max) = max.filter(|max| *max < min) {
        let message = format!("`min` {min} is more than `max` {max}");
        return Err(MatcherError::new(message, "swap them, or correct one"));
    }
    let given = given.clone();
    Ok(Arc::new(Length { given, min, max }))
}

fn read_bounds(bounds: &Map<String, Value>) -> Result<(u64, Option<u64>), MatcherError> {
    let known = ["min", "max"];
    let is_known = |name: &&String| known.contains(&name.as_str());
    if let Some(name) = bounds.keys().find(|name| !is_known(name)) {
        let close = match nearest(known.into_iter(), name) {
            Some(close) => format!("; did you mean {close:?}?"),
            None => String::new(),
        };
        let message = format!("a length has `min` and `max`, not {name:?}{close}");
        return Err(MatcherError::new(message, HINT));
    }
    if bounds.is_empty() {
        return Err(MatcherError::new("it has neither `min` nor `max`", HINT));
    }
    let bound = |name: &str| bounds.get(name).map(whole).transpose();
    Ok((bound("min")?.unwrap_or(0), bound("max")?))
}

/// A whole number from 0 up, also where it is written with a point: `3.0`.
fn whole(value: &Value) -> Result<u64, MatcherError> {
    let number = value
        .as_number()
        .and_then(|_| mcprove_trace::canonical::text(value).parse().ok());
    number.ok_or_else(|| {
        let message = format!("it needs a whole number from 0 up, not {}", short(value));
        MatcherError::new(message, HINT)
    })
}

/// How long a value is, and in what.
fn measure(value: &Value) -> Option<(u64, &'static str)> {
    let (length, unit) = match value {
        Value::String(text) => (text.chars().count(), "character"),
        Value::Array(items) => (items.len(), "element"),
        Value::Object(members) => (members.len(), "key"),
        Value::Null | Value::Bool(_) | Value::Number(_) => return None,
    };
    Some((count(length), unit))
}

impl Rule for Length {
    fn answer(&self, actual: &Value) -> Answer {
        match measure(actual) {
            Some((length, _)) => {
                Answer::of(length >= self.min && self.max.is_none_or(|max| length <= max))
            }
            None => Answer::NoByKind,
        }
    }

    fn difference(&self, actual: &Value) -> Difference {
        let words = format!("a length of {}", self.bounds());
        let Some((length, unit)) = measure(actual) else {
            let words = format!("a text, list or map with {words}");
            return Difference::whole(self.given.clone(), actual, &words);
        };
        Difference {
            expected: self.given.clone(),
            actual: length.into(),
            path: ".length".to_owned(),
            message: format!("expected {words}, got {}", phrase::count(length, unit)),
        }
    }

    fn describe(&self) -> String {
        format!("has a length of {}", self.bounds())
    }
}

impl Length {
    fn bounds(&self) -> String {
        match (self.min, self.max) {
            (min, Some(max)) if min == max => min.to_string(),
            (0, Some(max)) => format!("at most {max}"),
            (min, Some(max)) => format!("{min} to {max}"),
            (min, None) => format!("at least {min}"),
        }
    }
}
