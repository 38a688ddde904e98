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
    1 + outside_texts(json.as_bytes())
        .filter(|byte| matches!(byte, b',' | b'[' | b'{'))
        .count()
}

/// How deep arrays and objects are nested, as far as the bytes are JSON.
pub fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in outside_texts(json) {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Whether a JSON text may have a value that no parser takes, though its syntax is right: half a character (an escape by
/// number), or a number beyond all numbers (an exponent, or very many digits).
pub fn is_doubtful(json: &str) -> bool {
    /// A number with more digits may be beyond all numbers.
    const DIGITS_MAX: usize = 300;
    let mut digits = 0;
    let mut may_be_beyond = |byte: u8| {
        let is_exponent = digits > 0 && matches!(byte, b'e' | b'E');
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        is_exponent || digits > DIGITS_MAX
    };
    memchr::memmem::find(json.as_bytes(), b"\\u").is_some()
        || outside_texts(json.as_bytes()).any(&mut may_be_beyond)
}

/// The bytes that stand in no text, and the quotes around those.
fn outside_texts(json: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = json;
    std::iter::from_fn(move || {
        let (byte, after) = rest.split_first()?;
        rest = if *byte == b'"' {
            after_text(after)
        } else {
            after
        };
        Some(*byte)
    })
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
mod tests;
