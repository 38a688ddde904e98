//! `exact`: the value equals the given one, whatever the order of its keys; `1` and `1.0` are equal.

use std::sync::Arc;

use mcprove_trace::canonical::equal;
use serde_json::Value;

use super::answer::is_comparable;
use super::difference::{Places, compare_members, compare_there, differences, expected_got, short};
use super::{Answer, Difference, Entry, Rule};
use crate::gate::path::push_index;

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
        differences(&self.0, actual, compare)
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
            let keys = expected.keys().chain(actual.keys()).collect();
            compare_members(keys, (expected, actual), path, places, compare);
        }
        (Value::Array(expected), Value::Array(actual)) => {
            for index in 0..expected.len().max(actual.len()) {
                if places.is_full() {
                    return;
                }
                let end = path.len();
                push_index(path, index);
                compare_there(
                    expected.get(index),
                    actual.get(index),
                    path,
                    places,
                    compare,
                );
                path.truncate(end);
            }
        }
        _ => {
            let words = expected_got(expected, actual);
            places.add(path, expected.clone(), Some(actual), words);
        }
    }
}
