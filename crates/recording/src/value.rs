//! What peers sent, in a form that every reader of a recording can read.
//!
//! A line of a recording is read whole. A value in it that no parser takes (too deep, a number beyond all
//! numbers, half a character) would make the line unreadable, and with it the file.

use mcprove_trace::prelude::*;
use mcprove_trace::protocol::{depth, is_doubtful};

/// Deeper values are written as a text: readers stop at about 120 levels.
const DEPTH_MAX: usize = 100;

/// The JSON, if it can be read back, else a text that holds it.
pub fn readable(json: &str) -> Cow<'_, str> {
    let can_be_parsed = || !is_doubtful(json) || serde_json::from_str::<Value>(json).is_ok();
    if depth(json.as_bytes()) <= DEPTH_MAX && can_be_parsed() {
        Cow::Borrowed(json)
    } else {
        Cow::Owned(Value::from(json).to_string())
    }
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
