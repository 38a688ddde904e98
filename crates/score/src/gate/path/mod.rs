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

pub use resolve::kind;

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
    let mut text = String::new();
    for step in steps {
        match step {
            // A lone `$` would be taken for the beginning of another kind of path.
            Step::Key(key) if text.is_empty() && is_plain(key) && key != "$" => {
                text.push_str(key);
            }
            Step::Key(key) => push_key(&mut text, key),
            Step::Index(index) => push_index(&mut text, *index),
            Step::Every => text.push_str("[*]"),
            Step::Length => text.push_str(".length"),
        }
    }
    text
}

/// Adds the step to a key: `.key`, or `["a key"]` where a dot would not do.
pub fn push_key(text: &mut String, key: &str) {
    if is_plain(key) && key != "length" {
        text.push('.');
        text.push_str(key);
    } else {
        text.push_str("[\"");
        for character in key.chars() {
            if matches!(character, '"' | '\\') {
                text.push('\\');
            }
            text.push(character);
        }
        text.push_str("\"]");
    }
}

/// Adds the step to an element.
pub fn push_index(text: &mut String, index: usize) {
    text.push('[');
    text.push_str(&index.to_string());
    text.push(']');
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
#[error("{message}")]
pub struct PathError {
    position: Option<usize>,
    message: String,
    hint: String,
}

impl PathError {
    /// Where it cannot be read, in characters, counted from 1; `None` where it leads nowhere.
    pub fn position(&self) -> Option<usize> {
        self.position
    }

    /// What to try.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

#[cfg(test)]
mod tests;
