//! `exact`: the value equals the given one, whatever the order of its keys; `1` and `1.0` are equal.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcprove_trace::canonical::equal;
use serde_json::{Map, Value};

use super::answer::is_comparable;
use super::difference::{Places, expected_got, short};
use super::{Answer, Difference, Entry, Rule};
use crate::gate::path::{push_index, push_key};

pub const ENTRY: Entry = Entry {
    name: "exact",
    explanation: "the value equals the given one; 1 and 1.0 are equal",
    read: |given| Ok(Arc::new(Exact(given.clone()))),
};

#[derive(Debug)]
struct Exact(Value);

impl Rule for Exact {
    fn answer(&self, actual: &Value) -> Answer {
        if is_comparable(&self.0, actual) {
            Answer::of(equal(&self.0, actual))
        } else {
            Answer::NoByKind
        }
    }

    fn difference(&self, actual: &Value) -> Difference {
        let mut places = Places::default();
        compare(&self.0, actual, &mut String::new(), &mut places);
        places
            .into_difference()
            .unwrap_or_else(|| Difference::whole(self.0.clone(), actual, &short(&self.0)))
    }

    fn describe(&self) -> String {
        format!("exactly {}", short(&self.0))
    }
}

/// Notes where two values differ.
fn compare(expected: &Value, actual: &Value, path: &mut String, places: &mut Places) {
    if places.is_full() || equal(expected, actual) {
        return;
    }
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            compare_members(expected, actual, path, places);
        }
        (Value::Array(expected), Value::Array(actual)) => {
            for index in 0..expected.len().max(actual.len()) {
                if places.is_full() {
                    return;
                }
                let end = path.len();
                push_index(path, index);
                compare_there(expected.get(index), actual.get(index), path, places);
                path.truncate(end);
            }
        }
        _ => {
            let words = expected_got(expected, actual);
            places.add(path, expected.clone(), Some(actual), words);
        }
    }
}

fn compare_members(
    expected: &Map<String, Value>,
    actual: &Map<String, Value>,
    path: &mut String,
    places: &mut Places,
) {
    let keys: BTreeSet<&String> = expected.keys().chain(actual.keys()).collect();
    for key in keys {
        if places.is_full() {
            return;
        }
        let end = path.len();
        push_key(path, key);
        compare_there(expected.get(key), actual.get(key), path, places);
        path.truncate(end);
    }
}

/// Compares what must be in one place with what is, where either may be nothing.
fn compare_there(
    expected: Option<&Value>,
    actual: Option<&Value>,
    path: &mut String,
    places: &mut Places,
) {
    match (expected, actual) {
        (Some(expected), Some(actual)) => compare(expected, actual, path, places),
        (Some(expected), None) => {
            let words = format!("expected {}, but it is missing", short(expected));
            places.add(path, expected.clone(), None, words);
        }
        (None, Some(actual)) => {
            let words = format!("expected nothing, got {}", short(actual));
            places.add(path, Value::Null, Some(actual), words);
        }
        (None, None) => {}
    }
}
