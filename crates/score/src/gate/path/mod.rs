//! Paths into a document: `tool_calls[0].name`, `args["a key"]`, `tool_calls[*].name`,
//! `tool_calls.length`.
//!
//! `[*]` goes over every element of a list, and what follows is asked of each; the result is one
//! list, however many `[*]` there are. Elements that have no such key are skipped, but when a list has
//! elements and none of them has it, the path leads nowhere. `.length` is the length of a text (in
//! characters), a list or a map, unless the map has a key of that name. A path that leads nowhere is
//! an error, never a value, so that nothing is judged which is not there.

mod parse;

use crate::prelude::*;

/// A way into a document.
///
/// ```
/// use mcprove_score::gate::Path;
/// use serde_json::json;
///
/// let run = json!({"tool_calls": [{"name": "search", "args": {"q": "x"}}, {"name": "fetch"}]});
/// let find = |path: &str| Path::parse(path).unwrap().resolve(&run);
/// assert_eq!(find("tool_calls[0].args.q").unwrap(), "x");
/// assert_eq!(find("tool_calls[*].name").unwrap(), json!(["search", "fetch"]));
/// assert_eq!(find("tool_calls.length").unwrap(), 2);
/// assert_eq!(
///     find("tool_cals").unwrap_err().message,
///     "there is no key `tool_cals`; did you mean `tool_calls`?"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    steps: Vec<PathStep>,
}

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    /// `.key` or `["key"]`: the value of a key.
    Key(String),
    /// `[0]`: an element, counted from 0.
    Index(usize),
    /// `[*]`: every element.
    Every,
    /// `.length`: how long it is, or the value of a key of this name.
    Length,
}

impl Path {
    /// The steps, in order.
    pub fn steps(&self) -> &[PathStep] {
        &self.steps
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&written(&self.steps))
    }
}

fn written(steps: &[PathStep]) -> String {
    let text = |(place, step): (usize, &PathStep)| match step {
        // A lone `$` would be taken for the beginning of another kind of path.
        PathStep::Key(key) if place == 0 && is_plain(key) && key != "$" => key.clone(),
        PathStep::Key(key) => key_step(key),
        PathStep::Index(index) => format!("[{index}]"),
        PathStep::Every => "[*]".to_owned(),
        PathStep::Length => ".length".to_owned(),
    };
    steps.iter().enumerate().map(text).collect()
}

/// The step to a key: `.key`, or `["a key"]` where a dot would not do.
pub fn key_step(key: &str) -> String {
    if is_plain(key) && key != "length" {
        return format!(".{key}");
    }
    let escaped = key.replace('\\', r"\\").replace('"', "\\\"");
    format!("[\"{escaped}\"]")
}

/// Whether a key can stand in a path as it is.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(is_plain_character)
}

fn is_plain_character(character: char) -> bool {
    !character.is_whitespace()
        && !character.is_control()
        && !matches!(character, '.' | '[' | ']' | '"' | '\'' | '*')
}

/// How long a value is, and in what.
pub fn measure(value: &Value) -> Option<(u64, &'static str)> {
    let (length, unit) = match value {
        Value::String(text) => (text.chars().count(), "character"),
        Value::Array(items) => (items.len(), "element"),
        Value::Object(members) => (members.len(), "key"),
        Value::Null | Value::Bool(_) | Value::Number(_) => return None,
    };
    Some((count(length), unit))
}

/// What a value is, in words.
pub fn kind(value: &Value) -> String {
    let size = || measure(value).map_or_else(String::new, |(size, of)| counted(size, of));
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => format!("a list of {}", size()),
        Value::Object(_) => format!("a map of {}", size()),
    }
}

// Following a path into a document.

/// Keys that are looked through for one that may have been meant.
const KEYS_MAX: usize = 1000;

impl Path {
    /// What is at the end of the path. With a `[*]` in it, that is a list of whatever was found.
    pub fn resolve(&self, document: &Value) -> DiagnosticResult<Value> {
        let (steps, is_length) = match &self.steps[..] {
            [steps @ .., PathStep::Length] => (steps, true),
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
        Ok(if self.steps.contains(&PathStep::Every) {
            Value::Array(values)
        } else {
            values.into_iter().next().unwrap_or_default()
        })
    }

    /// Why the step at `place` leads nowhere, from what was found before it.
    fn nowhere(&self, place: usize, found: &[&Value]) -> Diagnostic {
        let (before, after) = self.steps.split_at(place);
        let before = written(before);
        let first = found.first().copied().unwrap_or(&Value::Null);
        let is = sentence!("{} is {}", subject(&before), kind(first));
        let (message, hint) = match after {
            [PathStep::Key(key), ..] => no_key(key, &before, &is, found),
            [PathStep::Length, _, ..] => no_key("length", &before, &is, found),
            [PathStep::Index(index), ..] => no_element(*index, &before, &is, first),
            [PathStep::Every, ..] => (
                sentence!("{is}, not a list"),
                sentence!("`[*]` goes over the elements of a list; leave it out here"),
            ),
            [PathStep::Length] | [] => (
                sentence!("{is}, which has no length"),
                "only texts, lists and maps have a length".into(),
            ),
        };
        Diagnostic::new(message, hint)
    }
}

/// What one step leads to; `None` where it leads nowhere.
fn follow<'a>(step: &PathStep, value: &'a Value) -> Option<&'a [Value]> {
    let one = match (step, value) {
        (PathStep::Key(key), Value::Object(members)) => members.get(key),
        (PathStep::Length, Value::Object(members)) => members.get("length"),
        (PathStep::Index(index), Value::Array(items)) => items.get(*index),
        (PathStep::Every, Value::Array(items)) => return Some(items),
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
    let keys: BTreeSet<&str> = maps
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .take(KEYS_MAX)
        .collect();
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
        let hint = "an index needs a list; write a key as .key or [\"key\"]";
        return (sentence!("{message}, not a list"), hint.into());
    };
    let hint = match items.len() {
        0 if before == "tool_calls" => {
            "no tool was called; write tool_calls.length with exact: 0 where that is right, and \
             tool_calls[*].name with contains, or a trajectory block, for calls that may be missing"
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

#[cfg(test)]
mod tests;
