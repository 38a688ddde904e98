//! JSON from a peer, read into a tree only where the tree stays small.
//!
//! A value of two bytes on the wire takes dozens in memory, a small object hundreds: the limit on
//! the size of a message says little about what it grows to. So values are counted first.

use memchr::memchr2;
use serde::de::DeserializeOwned;

/// How many values a message may hold that is read as a whole.
pub const VALUES_MAX: usize = 300_000;

/// Why a text was not read.
#[derive(Debug, thiserror::Error)]
pub enum BoundedError {
    /// It holds too many values.
    #[error("it holds more than {VALUES_MAX} values")]
    TooMany,
    /// It is no JSON, or not of the form that was expected.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Reads `json`, unless it holds more than [`VALUES_MAX`] values.
///
/// ```
/// use mcprove_trace::protocol::{BoundedError, parse_bounded};
///
/// assert_eq!(parse_bounded::<Vec<u8>>("[1, 2]").unwrap(), [1, 2]);
/// let many = format!("[{}0]", "0,".repeat(300_000));
/// assert!(matches!(parse_bounded::<Vec<u8>>(&many), Err(BoundedError::TooMany)));
/// ```
pub fn parse_bounded<T: DeserializeOwned>(json: &str) -> Result<T, BoundedError> {
    // Every value but the last takes two bytes at least.
    if json.len() > 2 * VALUES_MAX && count_values(json) > VALUES_MAX {
        return Err(BoundedError::TooMany);
    }
    Ok(serde_json::from_str(json)?)
}

/// How many values `json` holds; an empty array or object counts as two.
pub fn count_values(json: &str) -> usize {
    let mut rest = json.as_bytes();
    let mut count = 1;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b',' | b'[' | b'{' => count += 1,
            b'"' => rest = after_text(after),
            _ => {}
        }
    }
    count
}

/// What comes after a text whose opening quote was read.
fn after_text(mut rest: &[u8]) -> &[u8] {
    while let Some(position) = memchr2(b'"', b'\\', rest) {
        let is_end = rest.get(position) == Some(&b'"');
        // A backslash takes the byte after it along.
        let next = position + if is_end { 1 } else { 2 };
        rest = rest.get(next..).unwrap_or_default();
        if is_end {
            return rest;
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (json, count) in [
            ("7", 1),
            ("[0]", 2),
            ("[0,0]", 3),
            (r#"{"a":0}"#, 2),
            (r#"[{"a":0},{"b":[1,2]}]"#, 7),
            (r#"["a,b,[,{", "\",\\", "\\"]"#, 4),
            (r#"["never ends,,,"#, 2),
        ] {
            assert_eq!(count_values(json), count, "{json}");
        }
    }
}
