//! Matchers: what a value must be, in a map with one of the names below. `-` and `_` are the same in
//! a name.
//!
//! | matcher | holds when the value |
//! |---|---|
//! | `exact` | equals the given one; `1` and `1.0` are equal |
//! | `contains` | has the given text in it, or is a superset of the given map or list |
//! | `subset` | is a superset of the given map or list |
//! | `schema` | is valid under the given JSON Schema |
//! | `regex` | is a text, or a list with a text, that the given pattern finds something in |
//! | `starts_with` | is a text, or a list with a text, that begins with the given one |
//! | `one_of` | equals one of the given ones |
//! | `length` | is as long as given: a number, or `min` and `max` |
//! | `not` | does not match the given matcher |
//! | `all_of`, `any_of` | matches all, or one, of the given matchers |
//!
//! A matcher that is not about a value of some kind proves nothing of it, under `not` either
//! ([`Answer`]).
//!
//! No matcher asks a model: the same value gives the same verdict, every time. Each is one file and
//! one line of [`ENTRIES`]; everything that can be wrong with it is found when it is read, so that
//! matching itself cannot fail.

mod answer;
mod contains;
mod difference;
mod error;
mod exact;
mod length;
mod logic;
mod one_of;
mod pattern;
mod schema;
mod schema_words;
mod starts_with;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

pub use answer::Answer;
pub use difference::Difference;
pub use error::MatcherError;

use mcprove_settings::registry::nearest;

/// One matcher that can be chosen by name.
struct Entry {
    /// The name, in `snake_case`.
    name: &'static str,
    /// When it holds, in one line.
    explanation: &'static str,
    /// Reads what stands beside the name.
    read: fn(&Value) -> Result<Arc<dyn Rule>, MatcherError>,
}

/// Every matcher.
const ENTRIES: &[Entry] = &[
    exact::ENTRY,
    contains::CONTAINS,
    contains::SUBSET,
    schema::ENTRY,
    pattern::ENTRY,
    starts_with::ENTRY,
    one_of::ENTRY,
    length::ENTRY,
    logic::NOT,
    logic::ALL_OF,
    logic::ANY_OF,
];

/// Names under which other tools let a model decide.
const MODEL_GRADED: [&str; 10] = [
    "g_eval",
    "judge",
    "jury",
    "llm",
    "llm_judge",
    "llm_rubric",
    "model_graded",
    "rubric",
    "semantic",
    "similarity",
];

/// What a matcher does, once it is read.
trait Rule: fmt::Debug + Send + Sync {
    /// Whether the value is as it must be.
    fn answer(&self, actual: &Value) -> Answer;
    /// Where and how a value differs that is not as it must be.
    fn difference(&self, actual: &Value) -> Difference;
    /// What the value must be, in plain words.
    fn describe(&self) -> String;
}

/// What a value must be.
///
/// ```
/// use mcprove_score::gate::Matcher;
/// use serde_json::json;
///
/// let matcher = Matcher::from_value(&json!({"schema": {"minimum": 0.7}})).unwrap();
/// assert_eq!(matcher.describe(), "at least 0.7");
/// assert!(matcher.matches(&json!(0.81)).is_ok());
/// let difference = matcher.matches(&json!(0.4)).unwrap_err();
/// assert_eq!(difference.message, "expected at least 0.7, got 0.4");
///
/// let error = Matcher::from_value(&json!({"contians": "x"})).unwrap_err();
/// assert_eq!(error.to_string(), r#"no matcher is called "contians"; did you mean "contains"?"#);
/// ```
#[derive(Clone)]
pub struct Matcher {
    name: &'static str,
    given: Arc<Value>,
    rule: Arc<dyn Rule>,
}

impl Matcher {
    /// Reads a matcher from a map with exactly one known name.
    pub fn from_value(value: &Value) -> Result<Self, MatcherError> {
        let Value::Object(fields) = value else {
            return Err(MatcherError::new(
                format!(
                    "a matcher is a map with one name, not {}",
                    super::path::kind(value)
                ),
                format!("write {{ exact: … }}, or another one: {}", known()),
            ));
        };
        let mut fields = fields.iter();
        match (fields.next(), fields.next()) {
            (Some((name, given)), None) => Self::new(name, given),
            (Some((first, _)), Some((second, _))) => {
                // Whichever is unknown is the more likely slip.
                for name in [first, second] {
                    find(name)?;
                }
                Err(MatcherError::new(
                    format!("a matcher has one name, but there are {first:?} and {second:?}"),
                    "put them in a list: { all_of: [ { … }, { … } ] }",
                ))
            }
            (None, _) => Err(MatcherError::new(
                "the matcher is empty",
                format!("write {{ exact: … }}, or another one: {}", known()),
            )),
        }
    }

    /// The matcher of this name, with what stands beside it.
    pub fn new(name: &str, given: &Value) -> Result<Self, MatcherError> {
        let entry = find(name)?;
        let rule = (entry.read)(given).map_err(|error| error.inside(entry.name))?;
        Ok(Self {
            name: entry.name,
            given: Arc::new(given.clone()),
            rule,
        })
    }

    /// The names of all matchers, and when each holds.
    pub fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
        ENTRIES.iter().map(|entry| (entry.name, entry.explanation))
    }

    /// What it says of a value.
    ///
    /// ```
    /// use mcprove_score::gate::{Answer, Matcher};
    /// use serde_json::json;
    ///
    /// let small = Matcher::from_value(&json!({"schema": {"maximum": 100}})).unwrap();
    /// assert_eq!(small.answer(&json!(5000)), Answer::No);
    /// assert_eq!(small.answer(&json!([5000])), Answer::Nothing, "a list has no maximum");
    /// let other = Matcher::from_value(&json!({"not": {"exact": "refund"}})).unwrap();
    /// assert_eq!(other.answer(&json!(["refund"])), Answer::Nothing, "a list is no text");
    /// ```
    pub fn answer(&self, actual: &Value) -> Answer {
        self.rule.answer(actual)
    }

    /// Compares a value with what it must be. Of what the matcher is not about it says no.
    pub fn matches(&self, actual: &Value) -> Result<(), Difference> {
        if self.is_match(actual) {
            Ok(())
        } else {
            Err(self.rule.difference(actual))
        }
    }

    /// Whether a value is what it must be; cheaper where nobody asks why it is not.
    pub fn is_match(&self, actual: &Value) -> bool {
        self.answer(actual) == Answer::Yes
    }

    /// What the value must be, in plain words: `at least 0.7`, `contains "x"`.
    pub fn describe(&self) -> String {
        self.rule.describe()
    }

    /// The matcher as it is written: `{"schema": {"minimum": 0.7}}`.
    pub fn to_value(&self) -> Value {
        Value::Object(
            [(self.name.to_owned(), (*self.given).clone())]
                .into_iter()
                .collect(),
        )
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Matcher({})", self.to_value())
    }
}

/// Finds a matcher by name, taking `-` for `_`.
fn find(name: &str) -> Result<&'static Entry, MatcherError> {
    let normal = name.replace('-', "_");
    if let Some(entry) = ENTRIES.iter().find(|entry| entry.name == normal) {
        return Ok(entry);
    }
    let lower = normal.to_lowercase();
    if MODEL_GRADED.contains(&lower.as_str()) || lower.contains("llm") || lower.contains("judge") {
        return Err(MatcherError::new(
            format!("{name:?} asks a model, and gates never call a model"),
            "match what was observed: exact, contains, schema, regex, …",
        ));
    }
    let close = match nearest(ENTRIES.iter().map(|entry| entry.name), &normal) {
        Some(close) => format!("; did you mean {close:?}?"),
        None => String::new(),
    };
    Err(MatcherError::new(
        format!("no matcher is called {name:?}{close}"),
        format!("the matchers are {}", known()),
    ))
}

fn known() -> String {
    let names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
