//! Which rows are wanted.

use std::fmt::Write as _;
use std::time::SystemTime;

use serde_json::Value;

use super::row::AuditRow;

/// Which rows are wanted, and in which order. Every condition that is set must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Requests that came at this time or later.
    pub since: Option<SystemTime>,
    /// Requests that came at this time or before.
    pub until: Option<SystemTime>,
    /// Calls of this tool.
    pub tool: Option<String>,
    /// Those that went well, or those that did not.
    pub success: Option<bool>,
    /// Errors of this category.
    pub category: Option<String>,
    /// Requests of this session.
    pub session: Option<String>,
    /// Requests with this method.
    pub method: Option<String>,
    /// Requests with these parameters.
    pub arguments: Vec<ArgumentFilter>,
    /// Rows after the one with this id.
    pub after: Option<i64>,
    /// At most so many rows.
    pub limit: Option<u64>,
    /// Which rows come first.
    pub order: Order,
}

/// Which rows come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// The latest.
    #[default]
    NewestFirst,
    /// The earliest.
    OldestFirst,
}

/// A parameter that a request must have.
///
/// ```
/// use mcprove_lab::audit::ArgumentFilter;
///
/// let filter: ArgumentFilter = "options.retries[0]=3".parse().unwrap();
/// assert!(filter.accepts(r#"{"options":{"retries":[3,4]}}"#));
/// assert!(!filter.accepts(r#"{"options":{"retries":[4]}}"#));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentFilter {
    path: Vec<Step>,
    value: String,
}

/// One step into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Member(String),
    Item(usize),
}

/// A text that names no parameter and value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not of the form NAME=VALUE")]
pub struct ArgumentError(String);

impl std::str::FromStr for ArgumentFilter {
    type Err = ArgumentError;

    /// `NAME=VALUE`. The name may lead into objects and arrays: `options.retries[0]`, also as
    /// `$.options.retries[0]`.
    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        let error = || ArgumentError(text.to_owned());
        let (name, value) = text.split_once('=').ok_or_else(error)?;
        let name = name.strip_prefix("$.").unwrap_or(name);
        let path = parse_path(name).ok_or_else(error)?;
        Ok(Self {
            path,
            value: value.to_owned(),
        })
    }
}

fn parse_path(name: &str) -> Option<Vec<Step>> {
    let mut path = Vec::new();
    for part in name.split('.') {
        let (member, items) = match part.find('[') {
            Some(at) => part.split_at_checked(at)?,
            None => (part, ""),
        };
        if member.is_empty() {
            return None;
        }
        path.push(Step::Member(member.to_owned()));
        for item in items.split_inclusive(']') {
            let index = item.strip_prefix('[')?.strip_suffix(']')?;
            path.push(Step::Item(index.parse().ok()?));
        }
    }
    Some(path)
}

impl ArgumentFilter {
    /// Whether parameters, as JSON, have the value at its place. A name with dots in it is found
    /// too. A text is compared as it is, everything else as JSON: `3`, `true`, `null`, `[1,2]`.
    pub fn accepts(&self, parameters: &str) -> bool {
        let Ok(parameters) = serde_json::from_str::<Value>(parameters) else {
            return false;
        };
        let found = self
            .find(&parameters)
            .or_else(|| self.find_whole(&parameters));
        found.is_some_and(|found| self.equals(found))
    }

    fn find<'a>(&self, parameters: &'a Value) -> Option<&'a Value> {
        let step = |value: &'a Value, step: &Step| match step {
            Step::Member(name) => value.get(name),
            Step::Item(index) => value.get(index),
        };
        self.path.iter().try_fold(parameters, step)
    }

    /// The member whose name is the path as it was written.
    fn find_whole<'a>(&self, parameters: &'a Value) -> Option<&'a Value> {
        let mut name = String::new();
        for step in &self.path {
            // Writing to a text does not fail.
            let _ = match step {
                Step::Member(member) if name.is_empty() => write!(name, "{member}"),
                Step::Member(member) => write!(name, ".{member}"),
                Step::Item(index) => write!(name, "[{index}]"),
            };
        }
        parameters.get(name)
    }

    fn equals(&self, found: &Value) -> bool {
        if found.as_str() == Some(&self.value) {
            return true;
        }
        match serde_json::from_str::<Value>(&self.value) {
            Ok(wanted) => is_same(found, &wanted),
            Err(_) => false,
        }
    }
}

/// Whether two values are the same; 1 and 1.0 are.
fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64().is_some() && left.as_f64() == right.as_f64()
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| is_same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, value)| {
                    let other = right.get(name);
                    other.is_some_and(|other| is_same(value, other))
                })
        }
        _ => left == right,
    }
}

impl Filter {
    /// Whether the parameters of a row are as wanted. What was cut cannot be known.
    pub(super) fn accepts_arguments(&self, row: &AuditRow) -> bool {
        self.arguments.is_empty()
            || !row.parameters_cut
                && row.parameters.as_deref().is_some_and(|parameters| {
                    self.arguments
                        .iter()
                        .all(|argument| argument.accepts(parameters))
                })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_found_and_compared() {
        let parameters =
            r#"{"seed":"7","n":1,"deep":{"list":[{"x":true},null]},"a.b":"dot","big":1.0}"#;
        for (filter, expected) in [
            ("seed=7", true),
            ("seed=\"7\"", true),
            ("n=1", true),
            ("n=1.0", true),
            ("n=2", false),
            ("big=1", true),
            ("deep.list[0].x=true", true),
            ("$.deep.list[0].x=true", true),
            ("deep.list[1]=null", true),
            ("deep.list[2]=null", false),
            ("deep={\"list\":[{\"x\":true},null]}", true),
            ("a.b=dot", true),
            ("missing=", false),
            ("seed=", false),
        ] {
            let parsed: ArgumentFilter = filter.parse().unwrap();
            assert_eq!(parsed.accepts(parameters), expected, "{filter}");
        }
    }

    #[test]
    fn what_is_no_pair_is_an_error() {
        for text in [
            "", "name", "=value", "a..b=1", "a[x]=1", "a[1=1", "a]b[=1", "a[1]b=1", "$.=1",
        ] {
            assert!(text.parse::<ArgumentFilter>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn broken_parameters_match_nothing() {
        let filter: ArgumentFilter = "a=1".parse().unwrap();
        for parameters in ["", "{", "[1]", "null", "{\"a\":"] {
            assert!(!filter.accepts(parameters), "{parameters:?}");
        }
    }
}
