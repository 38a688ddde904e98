//! Comparing values for `exact`, `contains` and `subset`: whether a value equals the given one, or has it in
//! it, and where it does not.
//!
//! A text is in a text that has it somewhere. A map is in a map that has each of its keys, with
//! values that hold the given ones. A list is in a list that has for each of its elements one of its
//! own that holds it, in any order ([maximum matching](crate::matching)). Anything else is in what
//! equals it.

use mcprove_trace::canonical::equal;

use super::difference::{Difference, Places, expected_got, short};
use crate::gate::path::key_step;
use crate::matching::unmatched;
use crate::prelude::*;

/// Whether a value has the given one in it.
pub fn is_in(expected: &Value, actual: &Value) -> bool {
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
    // One that has an equal on the other side takes it, and is left out.
    let mut is_left = |value: &&Value| match equals.get_mut(&canonical::text(value)) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let rest: Vec<&Value> = actual.iter().filter(&mut is_left).collect();
    // From the end, so that the earliest are the ones that are paired.
    let wanting = expected.iter().rev().filter(|value| !is_left(value));
    let mut wanting: Vec<&Value> = wanting.collect();
    wanting.reverse();
    let fits = |place: usize, partner: usize| is_in(wanting[place], rest[partner]);
    let places = unmatched(wanting.len(), rest.len(), fits);
    places.into_iter().map(|place| wanting[place]).collect()
}

/// Where a value differs from the given one; `is_part` where it may have more than that.
pub fn difference(expected: &Value, actual: &Value, is_part: bool) -> Difference {
    let mut places = Places::default();
    find((Some(expected), Some(actual)), is_part, "", &mut places);
    places
        .into_difference()
        .unwrap_or_else(|| Difference::whole(expected.clone(), actual, &short(expected).into()))
}

/// Notes where what is in one place differs from what must be there; either may be nothing.
fn find(pair: (Option<&Value>, Option<&Value>), is_part: bool, path: &str, places: &mut Places) {
    if places.is_full() {
        return;
    }
    let mut add = |expected: &Value, actual: Option<&Value>, words: String| {
        places.add(path, expected.clone(), actual, words);
    };
    let (expected, actual) = match pair {
        (Some(expected), Some(actual)) => (expected, actual),
        (Some(expected), None) => {
            let words = format!("expected {}, but it is missing", short(expected));
            return add(expected, None, words);
        }
        (None, actual) => {
            let words = format!(
                "expected nothing, got {}",
                short(actual.unwrap_or(&Value::Null))
            );
            return add(&Value::Null, actual, words);
        }
    };
    let holds = if is_part { is_in } else { equal };
    if holds(expected, actual) {
        return;
    }
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            let others = actual.keys().filter(|_| !is_part);
            let keys: BTreeSet<&String> = expected.keys().chain(others).collect();
            for key in keys {
                let path = format!("{path}{}", key_step(key));
                find((expected.get(key), actual.get(key)), is_part, &path, places);
            }
        }
        (Value::Array(expected), Value::Array(actual)) if !is_part => {
            for index in 0..expected.len().max(actual.len()) {
                let pair = (expected.get(index), actual.get(index));
                find(pair, is_part, &format!("{path}[{index}]"), places);
            }
        }
        (Value::Array(expected), Value::Array(items)) => {
            for part in missing(expected, items) {
                let (holds, got) = (holds_it(part), short(actual));
                let words = format!("expected an element of its own that {holds}, got {got}");
                add(part, Some(actual), words);
            }
        }
        (Value::String(_), Value::String(_)) if is_part => {
            let (holds, got) = (holds_it(expected), short(actual));
            let words = format!("expected a text that {holds}, got {got}");
            add(expected, Some(actual), words);
        }
        _ => add(expected, Some(actual), expected_got(expected, actual)),
    }
}

/// `contains "x"` of what can be in something, else `is 5`.
pub fn holds_it(part: &Value) -> String {
    match part {
        Value::String(_) | Value::Array(_) | Value::Object(_) => {
            format!("contains {}", short(part))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => format!("is {}", short(part)),
    }
}
