//! `starts_with`: the value is a text that begins with the given one, or a list with such a text.

use std::sync::Arc;

use serde_json::{Value, json};

use super::answer::ask_texts;
use super::difference::short;
use super::{Answer, Difference, Entry, MatcherError, Rule};

pub const ENTRY: Entry = Entry {
    name: "starts_with",
    explanation: "the value is a text, or a list with a text, that begins with the given one",
    read,
};

#[derive(Debug)]
struct StartsWith(String);

fn read(given: &Value) -> Result<Arc<dyn Rule>, MatcherError> {
    match given {
        Value::String(beginning) => Ok(Arc::new(StartsWith(beginning.clone()))),
        _ => Err(MatcherError::new(
            format!("it needs a text, not {}", short(given)),
            "write { starts_with: \"…\" }",
        )),
    }
}

impl Rule for StartsWith {
    fn answer(&self, actual: &Value) -> Answer {
        ask_texts(actual, |text| text.starts_with(&self.0))
    }

    fn difference(&self, actual: &Value) -> Difference {
        let words = format!("a text that {}", self.describe());
        Difference::whole(json!({ "starts_with": self.0 }), actual, &words)
    }

    fn describe(&self) -> String {
        format!("starts with {}", short(&json!(self.0)))
    }
}
