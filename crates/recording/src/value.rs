//! What peers sent, in a form that every reader of a recording can read.
//!
//! A line of a recording is read whole. A value in it that no parser takes (too deep, a number beyond all
//! numbers, half a character) would make the line unreadable, and with it the file.

use std::borrow::Cow;

use serde_json::Value;

/// Deeper values are written as a text: readers stop at about 120 levels.
const DEPTH_MAX: usize = 100;
/// A number with more digits may be beyond all numbers.
const DIGITS_MAX: usize = 300;

/// The JSON, if it can be read back, else a text that holds it.
pub(super) fn readable(json: &str) -> Cow<'_, str> {
    let is_readable = match look(json) {
        Look::Plain => true,
        Look::Doubtful => serde_json::from_str::<Value>(json).is_ok(),
        Look::TooDeep => false,
    };
    if is_readable {
        Cow::Borrowed(json)
    } else {
        Cow::Owned(Value::from(json).to_string())
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Look {
    Plain,
    /// It has an escape by number, an exponent, or very many digits.
    Doubtful,
    TooDeep,
}

fn look(json: &str) -> Look {
    let mut depth = 0_usize;
    let mut digits = 0_usize;
    let mut is_doubtful = false;
    let mut rest = json.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => {
                let (has_number, behind) = skip_text(after);
                is_doubtful |= has_number;
                rest = behind;
            }
            b'[' | b'{' => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Look::TooDeep;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'e' | b'E' if digits > 0 => is_doubtful = true,
            _ => {}
        }
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        is_doubtful |= digits > DIGITS_MAX;
    }
    if is_doubtful {
        Look::Doubtful
    } else {
        Look::Plain
    }
}

/// Skips a text whose opening quote was read: whether it has an escape by number, and what comes after it.
fn skip_text(mut rest: &[u8]) -> (bool, &[u8]) {
    let mut has_number = false;
    while let Some(found) = memchr::memchr2(b'"', b'\\', rest) {
        let (escaped, after) = match rest.get(found..) {
            Some([b'\\', escaped, after @ ..]) => (escaped, after),
            Some([b'"', after @ ..]) => return (has_number, after),
            _ => break,
        };
        has_number |= *escaped == b'u';
        rest = after;
    }
    (has_number, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_stays_as_it_is() {
        for json in [
            "{}",
            r#"{"a":[1,2.5,"x\"]["],"b":null}"#,
            "1e30",
            r#""\ud83d\ude00""#,
            r#""1e999""#,
            r#""[[[[\\\"[[""#,
            r#"{"a":"\\u12","b":"é\u00e9"}"#,
        ] {
            assert!(matches!(readable(json), Cow::Borrowed(_)), "{json}");
        }
    }

    #[test]
    fn what_no_reader_takes_becomes_a_text() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for json in ["1e999", r#"{"a":"\ud800"}"#, &"9".repeat(400), &deep] {
            let kept: String = serde_json::from_str(&readable(json)).unwrap();
            assert_eq!(kept, json);
        }
    }
}
