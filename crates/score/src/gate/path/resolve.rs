//! Following a path into a document.

use std::collections::BTreeSet;

use mcprove_settings::number;
use mcprove_settings::phrase;
use mcprove_settings::registry::nearest;
use serde_json::Value;

use super::{Path, PathError, Step, written};

/// Keys that are looked through for one that may have been meant.
const KEYS_MAX: usize = 1000;

impl Path {
    /// What is at the end of the path. With a `[*]` in it, that is a list of whatever was found.
    pub fn resolve(&self, document: &Value) -> Result<Value, PathError> {
        let mut found = vec![document];
        for (place, step) in self.steps.iter().enumerate() {
            let mut next = Vec::with_capacity(found.len());
            let mut lengths = Vec::new();
            let is_last = place + 1 == self.steps.len();
            // Nothing can be missing from an empty list.
            let mut is_there = found.is_empty();
            for &value in &found {
                if is_last && *step == Step::Length {
                    lengths.extend(length(value));
                } else {
                    is_there |= follow(step, value, &mut next);
                }
            }
            if is_last && *step == Step::Length && (is_there || !lengths.is_empty()) {
                return Ok(self.result(lengths));
            }
            if !is_there {
                return Err(self.nowhere(place, &found));
            }
            found = next;
        }
        Ok(self.result(found.into_iter().cloned().collect()))
    }

    fn result(&self, found: Vec<Value>) -> Value {
        if self.steps.contains(&Step::Every) {
            Value::Array(found)
        } else {
            found.into_iter().next().unwrap_or_default()
        }
    }

    /// Why the step at `place` leads nowhere, from what was found before it.
    fn nowhere(&self, place: usize, found: &[&Value]) -> PathError {
        let before = written(self.steps.get(..place).unwrap_or_default());
        let step = self.steps.get(place);
        let first = found.first().copied().unwrap_or(&Value::Null);
        let (message, hint) = match step {
            Some(Step::Key(key)) => no_key(key, &before, found),
            Some(Step::Length) if place + 1 < self.steps.len() => no_key("length", &before, found),
            Some(Step::Index(index)) => no_element(*index, &before, first),
            Some(Step::Every) => (
                format!("{} is {}, not a list", subject(&before), kind(first)),
                "`[*]` goes over the elements of a list; leave it out here".to_owned(),
            ),
            Some(Step::Length) | None => (
                format!(
                    "{} is {}, which has no length",
                    subject(&before),
                    kind(first)
                ),
                "only texts, lists and maps have a length".to_owned(),
            ),
        };
        PathError {
            position: None,
            message,
            hint,
        }
    }
}

/// Adds what one step leads to; `false` where it leads nowhere.
fn follow<'a>(step: &Step, value: &'a Value, next: &mut Vec<&'a Value>) -> bool {
    let one = match (step, value) {
        (Step::Key(key), Value::Object(members)) => members.get(key),
        (Step::Length, Value::Object(members)) => members.get("length"),
        (Step::Index(index), Value::Array(items)) => items.get(*index),
        (Step::Every, Value::Array(items)) => {
            next.extend(items);
            return true;
        }
        _ => None,
    };
    next.extend(one);
    one.is_some()
}

/// `.length` of a value.
fn length(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(text.chars().count().into()),
        Value::Array(items) => Some(items.len().into()),
        Value::Object(members) => Some(
            members
                .get("length")
                .cloned()
                .unwrap_or_else(|| members.len().into()),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn no_key(key: &str, before: &str, found: &[&Value]) -> (String, String) {
    let name = phrase::name(key);
    let keys: BTreeSet<&str> = found
        .iter()
        .filter_map(|value| value.as_object())
        .flat_map(|map| map.keys().map(String::as_str))
        .take(KEYS_MAX)
        .collect();
    let first = found.first().copied().unwrap_or(&Value::Null);
    if !found.iter().any(|value| value.is_object()) {
        let hint = match first {
            Value::Array(_) => format!(
                "write {before}[0].{key} for the first element, {before}[*].{key} for all of them"
            ),
            _ => format!("only a map has keys; end the path at {}", subject(before)),
        };
        let message = format!(
            "there is no key {name}: {} is {}, not a map",
            subject(before),
            kind(first)
        );
        return (message, hint);
    }
    let of = match (before.is_empty(), before.contains("[*]")) {
        (true, _) => String::new(),
        (false, true) => format!(" in any of `{before}`"),
        (false, false) => format!(" in `{before}`"),
    };
    let close = match nearest(keys.iter().copied(), key) {
        Some(close) => format!("; did you mean {}?", phrase::name(close)),
        None => String::new(),
    };
    let hint = if keys.is_empty() {
        "the map is empty".to_owned()
    } else {
        let keys: Vec<&str> = keys.into_iter().collect();
        format!("the keys there are {}", phrase::names(&keys))
    };
    (format!("there is no key {name}{of}{close}"), hint)
}

fn no_element(index: usize, before: &str, first: &Value) -> (String, String) {
    let Value::Array(items) = first else {
        return (
            format!(
                "there is no element {index}: {} is {}, not a list",
                subject(before),
                kind(first)
            ),
            "an index needs a list; to a key a path leads as .key or [\"key\"]".to_owned(),
        );
    };
    let hint = match items.len() {
        0 if before == "tool_calls" => {
            "no tool was called; write tool_calls.length with exact: 0 where that is right, and tool_calls[*].name with contains, or a trajectory block, for calls that may be missing"
                .to_owned()
        }
        0 => "the list is empty".to_owned(),
        length => format!("indices count from 0, so the last one is {}", length - 1),
    };
    let message = format!(
        "there is no element {index}: {} is {}",
        subject(before),
        kind(first)
    );
    (message, hint)
}

/// What stands before the step, as the subject of a sentence.
fn subject(before: &str) -> String {
    if before.is_empty() {
        "the value".to_owned()
    } else {
        format!("`{before}`")
    }
}

/// What a value is, in words.
pub fn kind(value: &Value) -> String {
    let count = |length: usize, noun: &str| phrase::count(number::count(length), noun);
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(items) => format!("a list of {}", count(items.len(), "element")),
        Value::Object(members) => format!("a map of {}", count(members.len(), "key")),
    }
}
