//! Following a path into a document.

use std::slice;

use super::{Path, PathError, Step, kind, measure, written};
use crate::prelude::*;

/// Keys that are looked through for one that may have been meant.
const KEYS_MAX: usize = 1000;

impl Path {
    /// What is at the end of the path. With a `[*]` in it, that is a list of whatever was found.
    pub fn resolve(&self, document: &Value) -> Result<Value, PathError> {
        let (steps, is_length) = match &self.steps[..] {
            [steps @ .., Step::Length] => (steps, true),
            steps => (steps, false),
        };
        let mut found = vec![document];
        for (place, step) in steps.iter().enumerate() {
            let next: Vec<&[Value]> = found.iter().filter_map(|it| follow(step, it)).collect();
            // Nothing can be missing from an empty list.
            if next.is_empty() && !found.is_empty() {
                return Err(self.nowhere(place, &found));
            }
            found = next.into_iter().flatten().collect();
        }
        let values: Vec<Value> = if is_length {
            let lengths: Vec<Value> = found.iter().filter_map(|value| length(value)).collect();
            if lengths.is_empty() && !found.is_empty() {
                return Err(self.nowhere(steps.len(), &found));
            }
            lengths
        } else {
            found.into_iter().cloned().collect()
        };
        Ok(if self.steps.contains(&Step::Every) {
            Value::Array(values)
        } else {
            values.into_iter().next().unwrap_or_default()
        })
    }

    /// Why the step at `place` leads nowhere, from what was found before it.
    fn nowhere(&self, place: usize, found: &[&Value]) -> PathError {
        let (before, after) = self.steps.split_at(place);
        let before = written(before);
        let first = found.first().copied().unwrap_or(&Value::Null);
        let is = sentence!("{} is {}", subject(&before), kind(first));
        let (message, hint) = match after {
            [Step::Key(key), ..] => no_key(key, &before, &is, found),
            [Step::Length, _, ..] => no_key("length", &before, &is, found),
            [Step::Index(index), ..] => no_element(*index, &before, &is, first),
            [Step::Every, ..] => (
                sentence!("{is}, not a list"),
                sentence!("`[*]` goes over the elements of a list; leave it out here"),
            ),
            [Step::Length] | [] => (
                sentence!("{is}, which has no length"),
                "only texts, lists and maps have a length".into(),
            ),
        };
        PathError {
            position: None,
            message,
            hint,
        }
    }
}

/// What one step leads to; `None` where it leads nowhere.
fn follow<'a>(step: &Step, value: &'a Value) -> Option<&'a [Value]> {
    let one = match (step, value) {
        (Step::Key(key), Value::Object(members)) => members.get(key),
        (Step::Length, Value::Object(members)) => members.get("length"),
        (Step::Index(index), Value::Array(items)) => items.get(*index),
        (Step::Every, Value::Array(items)) => return Some(items),
        _ => None,
    };
    one.map(slice::from_ref)
}

/// `.length` of a value.
fn length(value: &Value) -> Option<Value> {
    let (length, _) = measure(value)?;
    let key = value.get("length").cloned();
    Some(key.unwrap_or_else(|| length.into()))
}

fn no_key(key: &str, before: &str, is: &Message, found: &[&Value]) -> (Message, Message) {
    let name = quoted(key);
    let maps: Vec<&Map<String, Value>> = found.iter().filter_map(|it| it.as_object()).collect();
    if maps.is_empty() {
        let hint = match found.first() {
            Some(Value::Array(_)) => sentence!(
                "write {before}[0].{key} for the first element, {before}[*].{key} for all of them"
            ),
            _ => sentence!("only a map has keys; end the path at {}", subject(before)),
        };
        return (sentence!("there is no key {name}: {is}, not a map"), hint);
    }
    let keys = maps.into_iter().flat_map(Map::keys).map(String::as_str);
    let keys: BTreeSet<&str> = keys.take(KEYS_MAX).collect();
    let of = match before {
        "" => Message::default(),
        _ if before.contains("[*]") => sentence!(" in any of `{before}`"),
        _ => sentence!(" in `{before}`"),
    };
    let close = match nearest(keys.iter().copied(), key) {
        Some(close) => sentence!("; did you mean {}?", quoted(close)),
        None => Message::default(),
    };
    let hint = if keys.is_empty() {
        "the map is empty".into()
    } else {
        let keys: Vec<&str> = keys.into_iter().collect();
        sentence!("the keys there are {}", quoted_names(&keys))
    };
    (sentence!("there is no key {name}{of}{close}"), hint)
}

fn no_element(index: usize, before: &str, is: &Message, first: &Value) -> (Message, Message) {
    let message = sentence!("there is no element {index}: {is}");
    let Value::Array(items) = first else {
        let hint = "an index needs a list; to a key a path leads as .key or [\"key\"]";
        return (sentence!("{message}, not a list"), hint.into());
    };
    let hint = match items.len() {
        0 if before == "tool_calls" => {
            "no tool was called; write tool_calls.length with exact: 0 where that is right, and tool_calls[*].name with contains, or a trajectory block, for calls that may be missing"
                .into()
        }
        0 => "the list is empty".into(),
        length => sentence!("indices count from 0, so the last one is {}", length - 1),
    };
    (message, hint)
}

/// What stands before the step, as the subject of a sentence.
fn subject(before: &str) -> Message {
    if before.is_empty() {
        "the value".into()
    } else {
        sentence!("`{before}`")
    }
}
