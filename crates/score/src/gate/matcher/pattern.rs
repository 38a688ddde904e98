//! `regex`: the value is a text that the given pattern finds something in, or a list with such a text.
//! Patterns run in linear time, whatever the text, so there is no look-around and there are no
//! back-references.

use std::sync::Arc;

use regex::Regex;
use serde_json::{Value, json};

use super::answer::ask_texts;
use super::difference::short;
use super::{Answer, Difference, Entry, MatcherError, Rule};

pub const ENTRY: Entry = Entry {
    name: "regex",
    explanation: "the value is a text, or a list with a text, that the given pattern finds something in",
    read,
};

#[derive(Debug)]
struct Pattern(Regex);

fn read(given: &Value) -> Result<Arc<dyn Rule>, MatcherError> {
    let Value::String(pattern) = given else {
        return Err(MatcherError::new(
            format!("it needs a pattern, not {}", short(given)),
            "write { regex: \"^[a-z]+$\" }",
        ));
    };
    match Regex::new(pattern) {
        Ok(regex) => Ok(Arc::new(Pattern(regex))),
        Err(error) => Err(explain(pattern, &error)),
    }
}

/// Where a pattern is wrong, and why.
fn explain(pattern: &str, error: &regex::Error) -> MatcherError {
    let (offset, reason) = match regex_syntax::parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => {
            (error.span().start.offset, error.kind().to_string())
        }
        Err(regex_syntax::Error::Translate(error)) => {
            (error.span().start.offset, error.kind().to_string())
        }
        _ => {
            let hint = "shorten it: mind large counts in braces";
            return MatcherError::new(format!("the pattern cannot be used: {error}"), hint);
        }
    };
    let position = pattern.get(..offset).unwrap_or_default().chars().count() + 1;
    MatcherError::new(
        format!("the pattern is wrong at character {position}: {reason}"),
        "put a backslash before a character that is meant as it is; there is no look-around, \
         and there are no back-references",
    )
    .at(position)
}

impl Rule for Pattern {
    fn answer(&self, actual: &Value) -> Answer {
        ask_texts(actual, |text| self.0.is_match(text))
    }

    fn difference(&self, actual: &Value) -> Difference {
        let words = format!("a text that {}", self.describe());
        Difference::whole(json!({ "regex": self.0.as_str() }), actual, &words)
    }

    fn describe(&self) -> String {
        format!("matches the pattern {}", short(&json!(self.0.as_str())))
    }
}
