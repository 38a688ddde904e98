//! The first difference between two values, in words: where, what was recorded, what is there now.

use std::fmt::Write as _;

use mcprove_settings::secret::fits;
use serde_json::Value;

/// How many characters of a value are shown.
const SHOWN_CHARS: usize = 60;
/// How many characters before the first that differs.
const BEFORE_CHARS: usize = 20;

/// A difference between a recorded value and the one of now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// Where it is: `messages[2].content[0].text`; empty for the whole.
    pub path: String,
    /// What was recorded, and what is there now.
    pub told: String,
}

/// The first difference, in the order of the recorded value; `None` if there is none.
pub(super) fn first_difference(recorded: &Value, now: &Value) -> Option<Difference> {
    let mut path = String::new();
    let told = differ(recorded, now, &mut path)?;
    Some(Difference { path, told })
}

/// Finds the first difference, and leaves the path to it. Whoever parsed the values bounds their depth.
fn differ(recorded: &Value, now: &Value, path: &mut String) -> Option<String> {
    let length = path.len();
    match (recorded, now) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                push_key(path, key);
                let told = match new.get(key) {
                    Some(now) => differ(value, now, path),
                    None => Some(format!("recorded {}, now absent", shortened(value))),
                };
                if told.is_some() {
                    return told;
                }
                path.truncate(length);
            }
            let (key, value) = new.iter().find(|(key, _)| !old.contains_key(*key))?;
            push_key(path, key);
            Some(format!("not recorded, now {}", shortened(value)))
        }
        (Value::Array(old), Value::Array(new)) => {
            for (index, (value, now)) in old.iter().zip(new).enumerate() {
                // Writing to a text cannot fail.
                let _ = write!(path, "[{index}]");
                if let Some(told) = differ(value, now, path) {
                    return Some(told);
                }
                path.truncate(length);
            }
            let at = old.len().min(new.len());
            let told = match (old.get(at), new.get(at)) {
                (Some(value), _) => format!("recorded {}, now absent", shortened(value)),
                (None, Some(value)) => format!("not recorded, now {}", shortened(value)),
                (None, None) => return None,
            };
            let _ = write!(path, "[{at}]");
            Some(told)
        }
        (Value::String(old), Value::String(new)) => {
            if fits(old, new) {
                return None;
            }
            let (old, new) = around_difference(old, new);
            Some(format!("recorded {old}, now {new}"))
        }
        (old, new) if old == new => None,
        (old, new) => Some(format!(
            "recorded {}, now {}",
            shortened(old),
            shortened(new)
        )),
    }
}

fn push_key(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}

/// Two texts from a little before the first character that differs.
fn around_difference(old: &str, new: &str) -> (String, String) {
    let same = old
        .chars()
        .zip(new.chars())
        .take_while(|(old, new)| old == new)
        .count();
    let skipped = same.saturating_sub(BEFORE_CHARS);
    let part = |text: &str| {
        let part: String = text.chars().skip(skipped).collect();
        let dots = if skipped > 0 { "…" } else { "" };
        quoted(&format!("{dots}{part}"))
    };
    (part(old), part(new))
}

/// A value in a few words.
pub(super) fn shortened(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => quoted(text),
        other => cut(&other.to_string()),
    }
}

fn quoted(text: &str) -> String {
    format!("{:?}", cut(text))
}

fn cut(text: &str) -> String {
    mcprove_settings::text::shorten(text, SHOWN_CHARS)
}
