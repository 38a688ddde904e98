//! What the parser says of a text, in plain words.

use crate::prelude::*;

/// What is wrong, and what to try.
pub type Words = (String, String);

/// What the parser says, and what that is in plain words.
const TABLE: &str = include_str!("words.txt");

/// The plain words for what the parser says, of one kind.
fn plain(kind: &str, is_meant: impl Fn(&str) -> bool) -> Option<&'static str> {
    let mut rows = TABLE
        .lines()
        .filter_map(|line| line.strip_prefix(kind)?.split_once(" | "));
    rows.find(|(said, _)| is_meant(said))
        .map(|(_, words)| words)
}

/// What is no JSON, or is JSON that no value has. `None` where it is a matter of types.
pub fn of_syntax(reason: &str) -> Option<Words> {
    let (message, hint) = plain("syntax: ", |said| reason.contains(said))?.split_once(" | ")?;
    Some((message.to_owned(), hint.to_owned()))
}

/// What a value is, and what it should be.
pub fn of_types(reason: &str) -> Words {
    if let Some(key) = reason.strip_prefix("missing field ") {
        return (
            format!("the key {key} is missing"),
            "add it, or check that this is the right file".to_owned(),
        );
    }
    if let Some(key) = reason.strip_prefix("duplicate field ") {
        return (
            format!("the key {key} is given twice"),
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
    let message = found.map_or_else(
        || reason.to_owned(),
        |(found, wanted)| {
            let (found, wanted) = (self::found(found), self::wanted(wanted));
            format!("this is {found}, and must be {wanted}")
        },
    );
    (
        message,
        "change the value, or the program that writes it".to_owned(),
    )
}

fn of_choice(found: &str, known: &str) -> Words {
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let hint = nearest(known.iter().copied(), found).map_or_else(String::new, |close| {
        format!("; did you mean {}?", phrase::name(close))
    });
    (
        format!("{} is not known here{hint}", phrase::name(found)),
        format!("known: {}", known.join(", ")),
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
    match plain("type: ", |said| said == wanted) {
        Some(plain) => plain,
        None if wanted.starts_with("struct ") => "an object",
        None => wanted,
    }
}

/// What is wrong with a text that is not JSON.
pub fn of_signs(reason: &str) -> &str {
    plain("sign: ", |said| said == reason).unwrap_or(reason)
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
                "the key `name` is given twice",
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
