//! Paths into a document: `tool_calls[0].name`, `args["a key"]`, `tool_calls[*].name`,
//! `tool_calls.length`.
//!
//! `[*]` goes over every element of a list, and what follows is asked of each; the result is one
//! list, however many `[*]` there are. Elements that have no such key are skipped, but when a list has
//! elements and none of them has it, the path leads nowhere. `.length` is the length of a text (in
//! characters), a list or a map, unless the map has a key of that name. A path that leads nowhere is
//! an error, never a value, so that nothing is judged which is not there.

mod parse;
mod resolve;

use std::fmt;

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
///     find("tool_cals").unwrap_err().to_string(),
///     "there is no key `tool_cals`; did you mean `tool_calls`?"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    steps: Vec<Step>,
}

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
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
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&written(&self.steps))
    }
}

/// Steps as a path is written.
fn written(steps: &[Step]) -> String {
    let text = |(place, step): (usize, &Step)| match step {
        // A lone `$` would be taken for the beginning of another kind of path.
        Step::Key(key) if place == 0 && is_plain(key) && key != "$" => key.clone(),
        Step::Key(key) => key_step(key),
        Step::Index(index) => format!("[{index}]"),
        Step::Every => "[*]".to_owned(),
        Step::Length => ".length".to_owned(),
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

/// Why a path cannot be read, or where it leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", message.text())]
pub struct PathError {
    /// Where it cannot be read, in characters, counted from 1; `None` where it leads nowhere.
    pub position: Option<usize>,
    pub(crate) message: Message,
    /// What to try.
    pub hint: Message,
}

impl PathError {
    /// The same, as why a target cannot be judged.
    pub fn about(self, target: &str) -> ScoreError {
        ScoreError::new(target, self.message, self.hint)
    }
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

#[cfg(test)]
mod tests;
