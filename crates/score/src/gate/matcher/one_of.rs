//! `one_of`: the value equals one of the given ones.

use std::sync::Arc;

use mcprove_trace::canonical::equal;
use serde_json::{Value, json};

use super::answer::is_comparable;
use super::difference::short;
use super::{Answer, Difference, Entry, MatcherError, Rule};

/// Choices that a description lists before the rest is only counted.
const CHOICES_MAX: usize = 8;

pub const ENTRY: Entry = Entry {
    name: "one_of",
    explanation: "the value equals one of those in the given list",
    read,
};

#[derive(Debug)]
struct OneOf(Vec<Value>);

fn read(given: &Value) -> Result<Arc<dyn Rule>, MatcherError> {
    match given {
        Value::Array(choices) if !choices.is_empty() => Ok(Arc::new(OneOf(choices.clone()))),
        _ => Err(MatcherError::new(
            format!("it needs a list of values, not {}", short(given)),
            "write { one_of: [a, b] }",
        )),
    }
}

impl Rule for OneOf {
    fn answer(&self, actual: &Value) -> Answer {
        if self.0.iter().any(|choice| is_comparable(choice, actual)) {
            Answer::of(self.0.iter().any(|choice| equal(choice, actual)))
        } else {
            Answer::NoByKind
        }
    }

    fn difference(&self, actual: &Value) -> Difference {
        Difference::whole(json!({ "one_of": self.0 }), actual, &self.describe())
    }

    fn describe(&self) -> String {
        choices(&self.0)
    }
}

/// `one of 1, 2 and 3`, in words.
pub fn choices(values: &[Value]) -> String {
    let mut listed: Vec<String> = values.iter().take(CHOICES_MAX).map(short).collect();
    if values.len() > CHOICES_MAX {
        listed.push(format!("{} more", values.len() - CHOICES_MAX));
    }
    format!("one of {}", listed.join(", "))
}
