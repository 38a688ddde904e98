//! What the parser says of a text, in plain words.

use mcprove_settings::phrase;
use mcprove_settings::registry::nearest;

/// What is wrong, and what to try.
pub(super) type Words = (String, String);

/// What is no JSON, or is JSON that no value has. `None` where it is a matter of types.
pub(super) fn of_syntax(reason: &str) -> Option<Words> {
    let words = |message: &str, hint: &str| Some((message.to_owned(), hint.to_owned()));
    if reason.contains("surrogate") || reason.contains("unexpected end of hex escape") {
        return words(
            "half a character is written here, such as \\ud83d without its other half",
            "a text was cut inside a character: write it whole, or put \\ufffd in the place of the half",
        );
    }
    if reason.contains("number out of range") {
        return words(
            "the number here is out of range",
            "numbers go up to 1.8e308; write a larger one as a text",
        );
    }
    if reason.starts_with("recursion limit") || reason.starts_with("nested deeper") {
        return words(
            "the JSON is nested too deeply",
            "more than 120 levels are not read; leave out the value that has them",
        );
    }
    None
}

/// What a value is, and what it should be.
pub(super) fn of_types(reason: &str) -> Words {
    if let Some(key) = reason.strip_prefix("missing field ") {
        return (
            format!("the key {key} is missing"),
            "add it, or look whether this is the file that you mean".to_owned(),
        );
    }
    if let Some(key) = reason.strip_prefix("duplicate field ") {
        return (
            format!("the key {key} stands here twice"),
            "keep the one that is meant".to_owned(),
        );
    }
    if let Some((found, known)) = reason
        .strip_prefix("unknown variant `")
        .and_then(|rest| rest.split_once("`, expected "))
    {
        return of_choice(found, known);
    }
    let found = ["invalid type: ", "invalid value: "]
        .into_iter()
        .find_map(|start| reason.strip_prefix(start)?.rsplit_once(", expected "));
    let Some((found, wanted)) = found else {
        return (
            reason.to_owned(),
            "change the value, or the program that writes it".to_owned(),
        );
    };
    (
        format!(
            "this is {}, and must be {}",
            self::found(found),
            self::wanted(wanted)
        ),
        "change the value, or the program that writes it".to_owned(),
    )
}

fn of_choice(found: &str, known: &str) -> Words {
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let close = nearest(known.iter().copied(), found);
    let hint = close.map_or_else(String::new, |close| {
        format!("; did you mean {}?", phrase::name(close))
    });
    (
        format!("{} is not known here{hint}", phrase::name(found)),
        format!("known are {}", known.join(", ")),
    )
}

/// What there is: `` integer `5` `` is the number 5.
fn found(found: &str) -> String {
    let inside = || found.split('`').nth(1).unwrap_or_default();
    match found.split([' ', '`']).next().unwrap_or_default() {
        "integer" | "floating" => format!("the number {}", inside()),
        "boolean" => inside().to_owned(),
        "string" => format!(
            "the text {}",
            phrase::text(found.strip_prefix("string ").unwrap_or_default())
        ),
        "null" | "unit" => "null".to_owned(),
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        _ => found.to_owned(),
    }
}

/// What there should be.
fn wanted(wanted: &str) -> &str {
    match wanted {
        "a string" | "string" | "a borrowed string" => "a text",
        "a boolean" => "true or false",
        "u64" | "usize" | "u32" | "u16" => "a whole number from 0 up",
        "i64" | "i32" => "a whole number",
        "f64" | "a JSON number" => "a number",
        "a sequence" => "a list",
        "a map" => "an object",
        _ if wanted.starts_with("struct ") => "an object",
        _ => wanted,
    }
}

/// What is wrong with a text that is no JSON.
pub(super) fn of_signs(reason: &str) -> &str {
    match reason {
        "expected ident" => "a word that JSON does not have",
        "expected value" => "a value is missing here",
        "trailing characters" => "something comes after the end",
        "trailing comma" => "a comma with nothing after it",
        "key must be a string" => "a key in double quotes is missing here",
        "control character (\\u0000-\\u001F) found while parsing a string" => {
            "a text with a line break or another control character in it"
        }
        _ => reason,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use mcprove_trace::{AgentTrace, StopReason, ToolCall, TraceRecord};

    fn said<'a, Wanted: Deserialize<'a>>(text: &'a str) -> String {
        let error = match serde_json::from_str::<Wanted>(text) {
            Ok(_) => panic!("{text} is read"),
            Err(error) => super::super::document::reason(&error),
        };
        of_types(&error).0
    }

    #[test]
    fn no_word_of_the_parser_is_left() {
        for (said, expected) in [
            (said::<ToolCall>("{}"), "the key `name` is missing"),
            (
                said::<ToolCall>(r#"{"name":"a","name":"b"}"#),
                "the key `name` stands here twice",
            ),
            (
                said::<ToolCall>(r#"{"name":5}"#),
                "this is the number 5, and must be a text",
            ),
            (
                said::<ToolCall>(r#"{"name":null}"#),
                "this is null, and must be a text",
            ),
            (
                said::<ToolCall>("5"),
                "this is the number 5, and must be an object",
            ),
            (
                said::<AgentTrace>(r#"{"schema":"x","runs":{}}"#),
                "this is an object, and must be a list",
            ),
            (
                said::<bool>(r#""yes, expected no""#),
                "this is the text \"yes, expected no\", and must be true or false",
            ),
            (said::<f64>("true"), "this is true, and must be a number"),
            (
                said::<u64>("-1"),
                "this is the number -1, and must be a whole number from 0 up",
            ),
            (
                said::<u64>("1.5"),
                "this is the number 1.5, and must be a whole number from 0 up",
            ),
            (
                said::<StopReason>(r#""complete""#),
                "`complete` is not known here; did you mean `completed`?",
            ),
            (
                said::<TraceRecord>(r#"{"ts":"now"}"#),
                "this is the text \"now\", and must be a number",
            ),
        ] {
            assert_eq!(said, expected);
        }
    }
}
