//! The first difference between two values, in words: where, what was recorded, what is there now.

use crate::prelude::*;

/// How many characters of a value are shown.
const SHOWN_CHARS: usize = 60;
/// How many characters before the first that differs.
const BEFORE_CHARS: usize = 20;

/// The first difference, in the order of the recorded value: the path to it (`messages[2].content[0].text`, empty
/// for the whole), and what was recorded and is there now. `None` if there is none.
pub fn first_difference(recorded: &Value, now: &Value) -> Option<(String, String)> {
    let mut path = String::new();
    let told = differ(Some(recorded), Some(now), &mut path)?;
    Some((path, told))
}

/// Finds the first difference, and leaves the path to it. Whoever parsed the values bounds their depth.
fn differ(recorded: Option<&Value>, now: Option<&Value>, path: &mut String) -> Option<String> {
    let length = path.len();
    match (recorded, now) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            old.keys().chain(added).find_map(|key| {
                path.truncate(length);
                path.push_str(if length > 0 { "." } else { "" });
                path.push_str(key);
                differ(old.get(key), new.get(key), path)
            })
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            (0..old.len().max(new.len())).find_map(|index| {
                path.truncate(length);
                // Writing to a text cannot fail.
                let _ = write!(path, "[{index}]");
                differ(old.get(index), new.get(index), path)
            })
        }
        (Some(Value::String(old)), Some(Value::String(new))) => (!fits(old, new)).then(|| {
            let (old, new) = around_difference(old, new);
            format!("recorded {old}, now {new}")
        }),
        (Some(old), Some(new)) => {
            (old != new).then(|| format!("recorded {}, now {}", shortened(old), shortened(new)))
        }
        (Some(old), None) => Some(format!("recorded {}, now absent", shortened(old))),
        (None, Some(new)) => Some(format!("not recorded, now {}", shortened(new))),
        (None, None) => None,
    }
}

/// Two texts from a little before the first character that differs.
fn around_difference(old: &str, new: &str) -> (String, String) {
    let skipped = old
        .chars()
        .zip(new.chars())
        .take_while(|(old, new)| old == new)
        .count()
        .saturating_sub(BEFORE_CHARS);
    let part = |text: &str| {
        let dots = if skipped > 0 { "…" } else { "" };
        let part: String = dots.chars().chain(text.chars().skip(skipped)).collect();
        quoted(&part)
    };
    (part(old), part(new))
}

/// A value in a few words.
pub fn shortened(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => quoted(text),
        other => shorten(&other.to_string(), SHOWN_CHARS),
    }
}

fn quoted(text: &str) -> String {
    format!("{:?}", shorten(text, SHOWN_CHARS))
}
