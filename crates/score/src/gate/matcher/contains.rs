//! `contains` and `subset`: the value has the given one in it.
//!
//! A text is in a text that has it somewhere. A map is in a map that has each of its keys, with
//! values that hold the given ones. A list is in a list that has for each of its elements one of its
//! own that holds it, in any order ([maximum matching](crate::matching)). Anything else is in what
//! equals it.
//!
//! `contains` on a list also takes something that is no list: it is in a list when it is in one of
//! its elements, so `contains: refund` holds for a list with the text `issue_refund`. `subset`, by
//! which arguments are compared, does not.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcprove_trace::canonical::{self, equal};
use serde_json::Value;

use super::answer::is_same_kind;
use super::difference::{Places, compare_members, differences, expected_got, short};
use super::{Answer, Difference, Entry, Rule};
use crate::matching::unmatched;

pub const CONTAINS: Entry = Entry {
    name: "contains",
    explanation: "the value has the given text in it, or is a superset of the given map or list",
    read: |given| Ok(Arc::new(Contains(given.clone()))),
};

pub const SUBSET: Entry = Entry {
    name: "subset",
    explanation: "the value is a superset of the given map or list",
    read: |given| Ok(Arc::new(Subset(given.clone()))),
};

#[derive(Debug)]
struct Contains(Value);

impl Contains {
    /// The elements of a list that is searched for something that is no list.
    fn searched<'a>(&self, actual: &'a Value) -> Option<&'a [Value]> {
        match actual {
            Value::Array(items) if !self.0.is_array() => Some(items),
            _ => None,
        }
    }
}

impl Rule for Contains {
    fn answer(&self, actual: &Value) -> Answer {
        let Some(items) = self.searched(actual) else {
            return answer(&self.0, actual);
        };
        let answers = items.iter().map(|item| answer(&self.0, item));
        // A list of maps says nothing of a text, but a text among them does.
        match answers.reduce(strongest) {
            Some(answer) => answer,
            None => Answer::No,
        }
    }

    fn difference(&self, actual: &Value) -> Difference {
        if self.searched(actual).is_some() {
            let words = format!("an element that {}", holds_it(&self.0));
            return Difference::whole(self.0.clone(), actual, &words);
        }
        differences(&self.0, actual, find_lacking)
    }

    fn describe(&self) -> String {
        format!("contains {}", short(&self.0))
    }
}

#[derive(Debug)]
struct Subset(Value);

impl Rule for Subset {
    fn answer(&self, actual: &Value) -> Answer {
        answer(&self.0, actual)
    }

    fn difference(&self, actual: &Value) -> Difference {
        differences(&self.0, actual, find_lacking)
    }

    fn describe(&self) -> String {
        format!("has all of {}", short(&self.0))
    }
}

fn answer(expected: &Value, actual: &Value) -> Answer {
    if is_same_kind(expected, actual) {
        Answer::of(is_in(expected, actual))
    } else {
        Answer::NoByKind
    }
}

/// The answer of a list of which one element is enough: yes, or else a no that means it.
fn strongest(one: Answer, other: Answer) -> Answer {
    let order = [Answer::Yes, Answer::No];
    order
        .into_iter()
        .find(|answer| *answer == one || *answer == other)
        .unwrap_or(one)
}

fn is_in(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::String(part), Value::String(text)) => text.contains(part.as_str()),
        (Value::Object(expected), Value::Object(actual)) => expected
            .iter()
            .all(|(key, part)| actual.get(key).is_some_and(|value| is_in(part, value))),
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() <= actual.len() && missing(expected, actual).is_empty()
        }
        _ => equal(expected, actual),
    }
}

/// The elements that have none of their own.
///
/// Equal ones are paired off first, which takes nobody's partner: what is in one of them is in whatever
/// has the other in it. So long lists that are alike are not compared each with each.
fn missing<'a>(expected: &'a [Value], actual: &[Value]) -> Vec<&'a Value> {
    let mut equals: BTreeMap<String, usize> = BTreeMap::new();
    for value in expected {
        *equals.entry(canonical::text(value)).or_default() += 1;
    }
    let mut rest = Vec::new();
    for value in actual {
        match equals.get_mut(&canonical::text(value)) {
            Some(count @ 1..) => *count -= 1,
            _ => rest.push(value),
        }
    }
    let mut wanting = Vec::new();
    // From the end, so that the earliest are the ones that are paired.
    for value in expected.iter().rev() {
        if let Some(count @ 1..) = equals.get_mut(&canonical::text(value)) {
            *count -= 1;
            wanting.push(value);
        }
    }
    wanting.reverse();
    missing_of(&wanting, &rest)
}

fn missing_of<'a>(expected: &[&'a Value], actual: &[&Value]) -> Vec<&'a Value> {
    let fits = |place: usize, partner: usize| match (expected.get(place), actual.get(partner)) {
        (Some(part), Some(value)) => is_in(part, value),
        _ => false,
    };
    let places = unmatched(expected.len(), actual.len(), fits);
    places
        .into_iter()
        .filter_map(|place| expected.get(place).copied())
        .collect()
}

/// Notes what is not in a value.
fn find_lacking(expected: &Value, actual: &Value, path: &mut String, places: &mut Places) {
    if places.is_full() || is_in(expected, actual) {
        return;
    }
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            let keys = expected.keys().collect();
            compare_members(keys, (expected, actual), path, places, find_lacking);
        }
        (Value::Array(expected), Value::Array(items)) => {
            for part in missing(expected, items) {
                let words = format!(
                    "expected an element of its own that {}, got {}",
                    holds_it(part),
                    short(actual)
                );
                places.add(path, part.clone(), Some(actual), words);
            }
        }
        (Value::String(_), Value::String(_)) => {
            let words = format!(
                "expected a text that {}, got {}",
                holds_it(expected),
                short(actual)
            );
            places.add(path, expected.clone(), Some(actual), words);
        }
        _ => {
            let words = expected_got(expected, actual);
            places.add(path, expected.clone(), Some(actual), words);
        }
    }
}

/// `contains "x"` of what can be in something, else `is 5`.
fn holds_it(part: &Value) -> String {
    match part {
        Value::String(_) | Value::Array(_) | Value::Object(_) => {
            format!("contains {}", short(part))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => format!("is {}", short(part)),
    }
}
