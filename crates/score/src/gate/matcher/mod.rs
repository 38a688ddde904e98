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
//! No matcher asks a model: the same value gives the same verdict, every time. Each is one line of
//! [`MATCHERS`] and one variant of [`Rule`]; everything that can be wrong with it is found when it is read, so
//! that matching itself cannot fail.

mod answer;
mod compare;
mod schema;

use jsonschema::Validator;
use mcprove_trace::canonical::equal;
use regex::Regex;

use self::answer::{ask_texts, is_comparable, is_same_kind};
use self::compare::{PLACES_MAX, holds_it, is_in, short};
use super::path::{kind, measure};
use crate::prelude::*;

pub use answer::Answer;
pub use compare::Difference;

/// A matcher that can be chosen by name: the name, when it holds, and how what stands beside it is read.
type Entry = (
    &'static str,
    &'static str,
    fn(&Value) -> DiagnosticResult<Rule>,
);

/// Every matcher.
const MATCHERS: &[Entry] = &[
    (
        "exact",
        "the value equals the given one; 1 and 1.0 are equal",
        |_| Ok(Rule::Exact),
    ),
    (
        "contains",
        "the value has the given text in it, or is a superset of the given map or list",
        |_| Ok(Rule::Contains),
    ),
    (
        "subset",
        "the value is a superset of the given map or list",
        |_| Ok(Rule::Subset),
    ),
    (
        "schema",
        "the value is valid under the given JSON Schema",
        |given| Ok(Rule::Schema(Arc::new(schema::compile(given)?))),
    ),
    (
        "regex",
        "the value is a text, or a list with a text, that the given pattern finds something in",
        read_pattern,
    ),
    (
        "starts_with",
        "the value is a text, or a list with a text, that begins with the given one",
        |given| match given {
            Value::String(beginning) => Ok(Rule::StartsWith(beginning.clone())),
            _ => Err(needs("a text", given, "write { starts_with: \"…\" }")),
        },
    ),
    (
        "one_of",
        "the value equals one of those in the given list",
        |given| match given {
            Value::Array(choices) if !choices.is_empty() => Ok(Rule::OneOf(choices.clone())),
            _ => Err(needs("a list of values", given, "write { one_of: [a, b] }")),
        },
    ),
    (
        "length",
        "the value is a text, list or map as long as given: a number, or min and max",
        read_length,
    ),
    (
        "not",
        "the value does not match the given matcher",
        |given| Ok(Rule::Not(Box::new(Matcher::from_value(given)?))),
    ),
    (
        "all_of",
        "the value matches every matcher of the given list",
        |given| Ok(Rule::AllOf(read_parts(given)?)),
    ),
    (
        "any_of",
        "the value matches one matcher of the given list",
        |given| Ok(Rule::AnyOf(read_parts(given)?)),
    ),
];

/// Names under which other tools let a model decide.
const MODEL_GRADED: &str =
    "g_eval judge jury llm llm_judge llm_rubric model_graded rubric semantic similarity";

/// Choices that a description lists before the rest is only counted.
const CHOICES_MAX: usize = 8;

/// What a matcher does, as far as that is more than what stands beside its name.
#[derive(Clone)]
enum Rule {
    /// The value equals the given one, whatever the order of its keys; `1` and `1.0` are equal.
    Exact,
    /// The value has the given one in it. Something that is no list is in a list when it is in one of its
    /// elements, so `contains: refund` holds for a list with the text `issue_refund`.
    Contains,
    /// The value has the given one in it; by it arguments are compared.
    Subset,
    Schema(Arc<Validator>),
    /// A pattern runs in linear time, whatever the text: there is no look-around, and there are no
    /// back-references.
    Regex(Regex),
    StartsWith(String),
    OneOf(Vec<Value>),
    /// How long a text is in characters, a list in elements, a map in keys.
    Length {
        min: u64,
        max: Option<u64>,
    },
    Not(Box<Matcher>),
    AllOf(Vec<Matcher>),
    AnyOf(Vec<Matcher>),
}

/// What a value must be.
///
/// ```
/// use mcprove_score::gate::Matcher;
/// use serde_json::json;
///
/// let matcher = Matcher::from_value(&json!({"schema": {"minimum": 0.7}})).unwrap();
/// assert_eq!(matcher.describe().rendered(), "at least 0.7");
/// assert!(matcher.matches(&json!(0.81)).is_ok());
/// let difference = matcher.matches(&json!(0.4)).unwrap_err();
/// assert_eq!(difference.message, "expected at least 0.7, got 0.4");
///
/// let error = Matcher::from_value(&json!({"contians": "x"})).unwrap_err();
/// assert_eq!(error.message, r#"no matcher is called "contians""#);
/// assert_eq!(error.hint, r#"did you mean "contains"?"#);
/// ```
#[derive(Clone)]
pub struct Matcher {
    name: &'static str,
    given: Arc<Value>,
    rule: Rule,
}

impl Matcher {
    /// Reads a matcher from a map with exactly one known name.
    pub fn from_value(value: &Value) -> DiagnosticResult<Self> {
        let how_to = || format!("write {{ exact: … }}, or another one: {}", known());
        let Value::Object(fields) = value else {
            let message = format!("a matcher is a map with one name, not {}", kind(value));
            return Err(Diagnostic::new(message, how_to()));
        };
        let mut fields = fields.iter();
        match (fields.next(), fields.next()) {
            (Some((name, given)), None) => Self::new(name, given),
            (Some((first, _)), Some((second, _))) => {
                // Whichever is unknown is the more likely slip.
                for name in [first, second] {
                    find(name)?;
                }
                Err(Diagnostic::new(
                    format!("a matcher has one name, but there are {first:?} and {second:?}"),
                    "put them in a list: { all_of: [ { … }, { … } ] }",
                ))
            }
            (None, _) => Err(Diagnostic::new("the matcher is empty", how_to())),
        }
    }

    /// The matcher of this name, with what stands beside it.
    pub fn new(name: &str, given: &Value) -> DiagnosticResult<Self> {
        let (name, _, read) = *find(name)?;
        Ok(Self {
            name,
            rule: read(given).map_err(|error| error.inside(name))?,
            given: Arc::new(given.clone()),
        })
    }

    /// The names of all matchers, and when each holds.
    pub fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
        MATCHERS
            .iter()
            .map(|(name, explanation, _)| (*name, *explanation))
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
        let given = &*self.given;
        let has = |value: &Value| Answer::about(is_same_kind(given, value), || is_in(given, value));
        match &self.rule {
            Rule::Exact => Answer::about(is_comparable(given, actual), || equal(given, actual)),
            Rule::OneOf(choices) => {
                let is_about = choices.iter().any(|choice| is_comparable(choice, actual));
                Answer::about(is_about, || choices.iter().any(|one| equal(one, actual)))
            }
            Rule::Contains => match self.searched(actual) {
                // A list of maps says nothing of a text, but a text among them does.
                Some(items) => {
                    let order = [Answer::Yes, Answer::No, Answer::NoByKind, Answer::No];
                    Answer::first_of(order, items.iter().map(has))
                }
                None => has(actual),
            },
            Rule::Subset => has(actual),
            Rule::Schema(validator) if schema::is_about(given, actual) => {
                Answer::of(validator.is_valid(actual))
            }
            Rule::Schema(_) => Answer::Nothing,
            Rule::Regex(regex) => ask_texts(actual, |text| regex.is_match(text)),
            Rule::StartsWith(beginning) => ask_texts(actual, |text| text.starts_with(beginning)),
            Rule::Length { min, max } => match measure(actual) {
                Some((length, _)) => {
                    Answer::of(length >= *min && max.is_none_or(|max| length <= max))
                }
                None => Answer::NoByKind,
            },
            Rule::Not(part) => part.answer(actual).opposite(),
            Rule::AllOf(parts) => {
                Answer::first_of(Answer::ALL, parts.iter().map(|part| part.answer(actual)))
            }
            Rule::AnyOf(parts) => {
                Answer::first_of(Answer::ANY, parts.iter().map(|part| part.answer(actual)))
            }
        }
    }

    /// The elements of a list that is searched for something that is no list.
    fn searched<'a>(&self, actual: &'a Value) -> Option<&'a [Value]> {
        let is_searched = matches!(self.rule, Rule::Contains) && !self.given.is_array();
        actual.as_array().filter(|_| is_searched).map(Vec::as_slice)
    }

    /// Compares a value with what it must be. Of what the matcher is not about it says no.
    pub fn matches(&self, actual: &Value) -> Result<(), Difference> {
        if self.is_match(actual) {
            Ok(())
        } else {
            Err(self.difference(actual))
        }
    }

    /// Whether a value is what it must be; cheaper where nobody asks why it is not.
    pub fn is_match(&self, actual: &Value) -> bool {
        self.answer(actual) == Answer::Yes
    }

    /// Where and how a value differs that is not as it must be.
    fn difference(&self, actual: &Value) -> Difference {
        let given = &*self.given;
        let described = self.describe();
        let of_given = |words: Message| Difference::whole(given.clone(), actual, &words);
        match &self.rule {
            Rule::Exact => compare::difference(given, actual, false),
            Rule::Contains if self.searched(actual).is_some() => {
                of_given(sentence!("an element that {}", holds_it(given)))
            }
            Rule::Contains | Rule::Subset => compare::difference(given, actual, true),
            Rule::Schema(validator) => {
                schema::difference(given, validator, actual).unwrap_or_else(|| of_given(described))
            }
            Rule::Length { min, max } => {
                let words = format!("a length of {}", bounds(*min, *max));
                let Some((length, unit)) = measure(actual) else {
                    return of_given(sentence!("a text, list or map with {words}"));
                };
                Difference {
                    expected: given.clone(),
                    actual: length.into(),
                    path: ".length".to_owned(),
                    message: sentence!("expected {words}, got {}", counted(length, unit)),
                }
            }
            // The first that does not match says most clearly what is wrong.
            Rule::AllOf(parts) => parts
                .iter()
                .find_map(|part| part.matches(actual).err())
                .unwrap_or_else(|| Difference::whole(Value::Null, actual, &described)),
            Rule::Regex(_) | Rule::StartsWith(_) => Difference::whole(
                self.to_value(),
                actual,
                &sentence!("a text that {described}"),
            ),
            Rule::OneOf(_) | Rule::Not(_) | Rule::AnyOf(_) => {
                Difference::whole(self.to_value(), actual, &described)
            }
        }
    }

    /// What the value must be, in plain words: `at least 0.7`, `contains "x"`.
    pub fn describe(&self) -> Message {
        let given = short(&self.given);
        match &self.rule {
            Rule::Exact => sentence!("exactly {given}"),
            Rule::Contains => sentence!("contains {given}"),
            Rule::Subset => sentence!("has all of {given}"),
            Rule::Schema(_) => schema::words(&self.given)
                .unwrap_or_else(|| sentence!("valid under the schema {given}")),
            Rule::Regex(_) => sentence!("matches the pattern {given}"),
            Rule::StartsWith(_) => sentence!("starts with {given}"),
            Rule::OneOf(values) => choices(values).into(),
            Rule::Length { min, max } => sentence!("has a length of {}", bounds(*min, *max)),
            Rule::Not(part) => sentence!("not ({})", part.describe()),
            Rule::AllOf(parts) => {
                Message::join(first_few(parts, PLACES_MAX, Self::describe), " and ")
            }
            Rule::AnyOf(parts) => {
                Message::join(first_few(parts, PLACES_MAX, Self::describe), " or ")
            }
        }
    }

    /// The matcher as it is written: `{"schema": {"minimum": 0.7}}`, with `_` for `-` in the names of
    /// matchers.
    pub fn to_value(&self) -> Value {
        let given = match &self.rule {
            Rule::Not(part) => part.to_value(),
            Rule::AllOf(parts) | Rule::AnyOf(parts) => parts.iter().map(Self::to_value).collect(),
            _ => (*self.given).clone(),
        };
        json!({ (self.name): given })
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Matcher({})", self.to_value())
    }
}

/// Finds a matcher by name, taking `-` for `_`.
fn find(name: &str) -> DiagnosticResult<&'static Entry> {
    let normal = name.replace('-', "_");
    if let Some(entry) = MATCHERS.iter().find(|entry| entry.0 == normal) {
        return Ok(entry);
    }
    let lower = normal.to_lowercase();
    if has_word(MODEL_GRADED, &lower) || lower.contains("llm") || lower.contains("judge") {
        return Err(Diagnostic::new(
            format!("{name:?} asks a model, and gates never call a model"),
            "match what was observed: exact, contains, schema, regex, …",
        ));
    }
    let close = did_you_mean(Matcher::entries().map(|(name, _)| name), &normal);
    Err(Diagnostic::new(
        format!("no matcher is called {name:?}"),
        if close.is_empty() {
            format!("the matchers are {}", known())
        } else {
            close
        },
    ))
}

fn known() -> String {
    let names: Vec<&str> = Matcher::entries().map(|(name, _)| name).collect();
    names.join(", ")
}

fn needs(what: &str, given: &Value, hint: impl Into<Message>) -> Diagnostic {
    Diagnostic::new(format!("it needs {what}, not {}", short(given)), hint)
}

fn read_parts(given: &Value) -> DiagnosticResult<Vec<Matcher>> {
    let parts = given.as_array().filter(|parts| !parts.is_empty());
    let hint = sentence!("write a line `- {{ contains: … }}` for each");
    let read = parts
        .ok_or_else(|| needs("a list of matchers", given, hint))?
        .iter()
        .enumerate()
        .map(|(index, part)| {
            Matcher::from_value(part).map_err(|error| error.inside(&format!("[{index}]")))
        });

    read.collect()
}

fn read_pattern(given: &Value) -> DiagnosticResult<Rule> {
    let Value::String(pattern) = given else {
        return Err(needs("a pattern", given, "write { regex: \"^[a-z]+$\" }"));
    };
    Regex::new(pattern)
        .map(Rule::Regex)
        .map_err(|error| explain(pattern, &error))
}

/// Where a pattern is wrong, and why.
fn explain(pattern: &str, error: &regex::Error) -> Diagnostic {
    let (span, reason) = match regex_syntax::parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => (*error.span(), error.kind().to_string()),
        Err(regex_syntax::Error::Translate(error)) => (*error.span(), error.kind().to_string()),
        _ => {
            let hint = "shorten it: mind large counts in braces";
            return Diagnostic::new(format!("the pattern cannot be used: {error}"), hint);
        }
    };
    let before = pattern.get(..span.start.offset).unwrap_or_default();
    let position = before.chars().count() + 1;
    Diagnostic::new(
        format!("the pattern is wrong at character {position}: {reason}"),
        "put a backslash before a character that is meant as it is; there is no look-around, \
         and there are no back-references",
    )
}

fn read_length(given: &Value) -> DiagnosticResult<Rule> {
    const HINT: &str = "write { length: 3 }, or { length: { min: 1, max: 3 } }";
    let known = ["min", "max"];
    // A whole number from 0 up, also where it is written with a point: `3.0`.
    let whole = |value: &Value| {
        value
            .as_number()
            .map(|_| canonical::text(value))
            .and_then(|text| text.parse::<u64>().ok())
            .ok_or_else(|| needs("a whole number from 0 up", value, HINT))
    };
    let (min, max) = match given {
        Value::Object(given) => {
            if let Some(name) = given.keys().find(|name| !known.contains(&name.as_str())) {
                let message = sentence!("a length has `min` and `max`, not {name:?}");
                let close = did_you_mean(known.into_iter(), name);
                let hint = if close.is_empty() { HINT } else { &close };
                return Err(Diagnostic::new(message, hint.to_owned()));
            }
            if given.is_empty() {
                return Err(Diagnostic::new(
                    sentence!("it has neither `min` nor `max`"),
                    HINT,
                ));
            }
            let [min, max] = known.map(|name| given.get(name).map(whole).transpose());
            (min?.unwrap_or(0), max?)
        }
        other => {
            let exact = whole(other)?;
            (exact, Some(exact))
        }
    };
    if let Some(max) = max.filter(|max| *max < min) {
        let message = sentence!("`min` {min} is more than `max` {max}");
        return Err(Diagnostic::new(message, "swap them, or correct one"));
    }
    Ok(Rule::Length { min, max })
}

/// A length in words.
fn bounds(min: u64, max: Option<u64>) -> String {
    match (min, max) {
        (min, Some(max)) if min == max => min.to_string(),
        (0, Some(max)) => format!("at most {max}"),
        (min, Some(max)) => format!("{min} to {max}"),
        (min, None) => format!("at least {min}"),
    }
}

/// `one of 1, 2 and 3`, in words.
fn choices(values: &[Value]) -> String {
    format!(
        "one of {}",
        first_few(values, CHOICES_MAX, short).join(", ")
    )
}

/// The first of a list in words, and how many more there are.
fn first_few<T, Words: From<String>>(
    items: &[T],
    most: usize,
    words: impl Fn(&T) -> Words,
) -> Vec<Words> {
    let more = items.len().checked_sub(most).filter(|more| *more > 0);
    let more = more.map(|more| format!("{more} more").into());
    items.iter().take(most).map(words).chain(more).collect()
}

#[cfg(test)]
mod tests;
