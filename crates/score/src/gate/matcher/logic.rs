//! `not`, `all_of` and `any_of`: matchers made of others.

use std::sync::Arc;

use serde_json::{Value, json};

use super::difference::{PLACES_MAX, short};
use super::{Answer, Difference, Entry, Matcher, MatcherError, Rule};

pub const NOT: Entry = Entry {
    name: "not",
    explanation: "the value does not match the given matcher",
    read: |given| Ok(Arc::new(Not(Matcher::from_value(given)?))),
};

pub const ALL_OF: Entry = Entry {
    name: "all_of",
    explanation: "the value matches every matcher of the given list",
    read: |given| Ok(Arc::new(AllOf(read_parts(given)?))),
};

pub const ANY_OF: Entry = Entry {
    name: "any_of",
    explanation: "the value matches one matcher of the given list",
    read: |given| Ok(Arc::new(AnyOf(read_parts(given)?))),
};

fn read_parts(given: &Value) -> Result<Vec<Matcher>, MatcherError> {
    match given {
        Value::Array(parts) if !parts.is_empty() => parts
            .iter()
            .enumerate()
            .map(|(index, part)| {
                Matcher::from_value(part).map_err(|error| error.inside(&format!("[{index}]")))
            })
            .collect(),
        _ => Err(MatcherError::new(
            format!("it needs a list of matchers, not {}", short(given)),
            "write a line `- { contains: … }` for each",
        )),
    }
}

#[derive(Debug)]
struct Not(Matcher);

impl Rule for Not {
    fn answer(&self, actual: &Value) -> Answer {
        self.0.answer(actual).opposite()
    }

    fn difference(&self, actual: &Value) -> Difference {
        Difference::whole(
            json!({ "not": self.0.to_value() }),
            actual,
            &self.describe(),
        )
    }

    fn describe(&self) -> String {
        format!("not ({})", self.0.describe())
    }
}

#[derive(Debug)]
struct AllOf(Vec<Matcher>);

impl Rule for AllOf {
    fn answer(&self, actual: &Value) -> Answer {
        self.0
            .iter()
            .map(|part| part.answer(actual))
            .fold(Answer::Yes, Answer::and)
    }

    fn difference(&self, actual: &Value) -> Difference {
        // The first that does not match says most clearly what is wrong.
        self.0
            .iter()
            .find_map(|part| part.matches(actual).err())
            .unwrap_or_else(|| Difference::whole(Value::Null, actual, &self.describe()))
    }

    fn describe(&self) -> String {
        joined(&self.0, " and ")
    }
}

#[derive(Debug)]
struct AnyOf(Vec<Matcher>);

impl Rule for AnyOf {
    fn answer(&self, actual: &Value) -> Answer {
        self.0
            .iter()
            .map(|part| part.answer(actual))
            .reduce(Answer::or)
            .unwrap_or(Answer::No)
    }

    fn difference(&self, actual: &Value) -> Difference {
        let parts: Vec<Value> = self.0.iter().map(Matcher::to_value).collect();
        Difference::whole(json!({ "any_of": parts }), actual, &self.describe())
    }

    fn describe(&self) -> String {
        joined(&self.0, " or ")
    }
}

fn joined(parts: &[Matcher], word: &str) -> String {
    let mut described: Vec<String> = parts
        .iter()
        .take(PLACES_MAX)
        .map(Matcher::describe)
        .collect();
    if parts.len() > PLACES_MAX {
        described.push(format!("{} more", parts.len() - PLACES_MAX));
    }
    described.join(word)
}
