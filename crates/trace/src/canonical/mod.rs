//! When two values, or two calls, are the same: JSON with sorted keys, no spaces, and one way to
//! write each number. Keys in another order do not make another value, nor does `1.0` for `1`.

mod fingerprint;

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::{Number, Value};

use crate::ToolCall;

pub use fingerprint::fingerprint;

use fingerprint::{WHOLE_FLOAT_MAX, hash};

/// A reply that is not JSON, or nested too deeply.
#[derive(Debug, thiserror::Error)]
#[error("the reply cannot be compared: {0}")]
pub struct CanonicalError(serde_json::Error);

/// JSON with sorted keys, no spaces, and one way to write each number: `1.0` and `1` are equal,
/// `1e2` and `100` too. Numbers beyond 64 bits are compared as floating point.
///
/// ```
/// use mcprove_trace::canonical::canonical;
///
/// let text = canonical(r#"{ "b": 1.0, "a": [1e2, -0.0] }"#).unwrap();
/// assert_eq!(text, r#"{"a":[100,0],"b":1}"#);
/// ```
pub fn canonical(json: &str) -> Result<String, CanonicalError> {
    let value: Value = serde_json::from_str(json).map_err(CanonicalError)?;
    Ok(text(&value))
}

/// The value with sorted keys, no spaces, and one way to write each number: `1.0` and `1` are
/// equal, `1e2` and `100` too. Numbers beyond 64 bits are compared as floating point.
pub fn text(value: &Value) -> String {
    let mut text = String::new();
    // What is nested deeply was refused by whoever read it (128 levels), which bounds the recursion.
    write_value(value, &mut text);
    text
}

fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) => text.push_str(&write_number(number)),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_value(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            // Sorted here: whether the map is depends on features that other crates turn on.
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_value(&Value::String(key.clone()), text);
                text.push(':');
                write_value(member, text);
            }
            text.push('}');
        }
        // Writing to a string does not fail.
        Value::Null | Value::Bool(_) | Value::String(_) => drop(write!(text, "{value}")),
    }
}

fn write_number(number: &Number) -> String {
    if number.is_i64() || number.is_u64() {
        return number.to_string();
    }
    match number.as_f64() {
        // Also minus zero.
        Some(0.0) => "0".to_owned(),
        // Every digit: the shortest text of a large one is that of another whole number.
        Some(value) if value.fract() == 0.0 && value.abs() < WHOLE_FLOAT_MAX => {
            format!("{value:.0}")
        }
        Some(value) => value.to_string(),
        None => number.to_string(),
    }
}

/// Whether two values are the same, however their numbers are written and their keys are ordered.
pub fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || write_number(one) == write_number(other)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| equal(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, member)| other.get(key).is_some_and(|value| equal(member, value)))
        }
        (one, other) => one == other,
    }
}

/// What makes a call the same as another one: its name, server, client and arguments. A call whose arguments
/// are unknown is the same as itself alone.
#[derive(Debug, Clone)]
pub struct Identity<'a> {
    name: &'a str,
    server: Option<&'a str>,
    client: Option<u32>,
    args: Option<Cow<'a, str>>,
}

impl<'a> Identity<'a> {
    /// The identity of a call.
    pub fn of(call: &'a ToolCall) -> Self {
        let args = (!call.args.is_null()).then(|| call.args.text().into());
        Self {
            args,
            ..Self::with_args(call, "")
        }
    }

    /// The identity of a call, as if these were its arguments, as JSON.
    pub fn with_args(call: &'a ToolCall, args: impl Into<Cow<'a, str>>) -> Self {
        Self {
            name: &call.name,
            server: call.server.as_deref(),
            client: call.client,
            args: Some(args.into()),
        }
    }

    /// Equal for calls that are the same; `None` for one that is the same as no other.
    fn fingerprint(&self) -> Option<u64> {
        let args = fingerprint(self.args.as_deref()?);
        Some(hash(&(self.name, self.server, self.client, args)))
    }

    fn is_same(&self, other: &Self) -> bool {
        let (Some(args), Some(others)) = (&self.args, &other.args) else {
            return false;
        };
        self.name == other.name
            && self.server == other.server
            && self.client == other.client
            && (args == others || same_text(args, others))
    }
}

/// Whether two JSON texts are of the same value; what is no JSON is the same as itself alone.
pub fn same_text(one: &str, other: &str) -> bool {
    match (serde_json::from_str(one), serde_json::from_str(other)) {
        (Ok(one), Ok(other)) => equal(&one, &other),
        _ => one == other,
    }
}

/// For each call the place of the first one that is the same. Only calls with the same fingerprint
/// are compared, so that a trace of many calls is gone through once.
pub fn first_equal(calls: &[Identity<'_>]) -> Vec<usize> {
    let mut prints: Vec<(u64, usize)> = calls
        .iter()
        .enumerate()
        .filter_map(|(place, call)| Some((call.fingerprint()?, place)))
        .collect();
    prints.sort_unstable();
    let mut first: Vec<usize> = (0..calls.len()).collect();
    for group in prints.chunk_by(|one, other| one.0 == other.0) {
        // The first of each kind: but for chance there is one.
        let mut kinds: Vec<(usize, &Identity<'_>)> = Vec::new();
        for (_, place) in group {
            let (Some(call), Some(found)) = (calls.get(*place), first.get_mut(*place)) else {
                continue;
            };
            match kinds.iter().find(|(_, kind)| kind.is_same(call)) {
                Some((kind, _)) => *found = *kind,
                None => kinds.push((*place, call)),
            }
        }
    }
    first
}

/// A call as one text, equal for calls that are the same, where its arguments are known: what tests
/// compare with.
#[cfg(test)]
pub(crate) fn call(call: &ToolCall) -> Option<String> {
    let args = (!call.args.is_null()).then(|| text(&call.args.value()))?;
    Some(format!("{:?},{:?},{args}", call.name, call.server))
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use harness::values::json_values;

    use super::*;

    #[test]
    fn equal_values_have_one_text() {
        let value = json!({"b": 1.0, "a": [1e2, -0.0]});
        assert_eq!(text(&value), r#"{"a":[100,0],"b":1}"#);
        assert_eq!(text(&json!(-2e21)), "-2000000000000000000000");
    }

    #[test]
    fn values_are_compared_by_what_they_mean() {
        let cases = [
            (json!(1), json!(1.0), true),
            (json!(0), json!(-0.0), true),
            (json!(100), json!(1e2), true),
            (json!(u64::MAX), json!(18_446_744_073_709_551_615_u64), true),
            (
                json!(1.234_559_909_213_009_7e18),
                json!(1_234_559_909_213_009_664_u64),
                true,
            ),
            (
                json!(1.234_559_909_213_009_7e18),
                json!(1_234_559_909_213_009_700_u64),
                false,
            ),
            // Two to the power of 53, and one more: equal as floats, but not the same.
            (
                json!(9_007_199_254_740_993_u64),
                json!(9_007_199_254_740_992.0),
                false,
            ),
            (json!(1), json!(true), false),
            (json!(1), json!("1"), false),
            (json!(null), json!({}), false),
            (json!([1, 2]), json!([2, 1]), false),
            (json!([1]), json!([1, 1]), false),
            (json!({"a": {"b": [1.0]}}), json!({"a": {"b": [1]}}), true),
            (json!({"a": 1}), json!({"a": 1, "b": null}), false),
            (json!({"a": 1}), json!({"b": 1}), false),
        ];
        for (one, other, expected) in cases {
            assert_eq!(equal(&one, &other), expected, "{one} {other}");
            assert_eq!(equal(&other, &one), expected, "{other} {one}");
            assert_eq!(text(&one) == text(&other), expected, "{one} {other}");
        }
    }

    #[test]
    fn calls_are_the_same_by_name_server_and_arguments() {
        let made = |name: &str, server: Option<&str>, args: Value| ToolCall {
            name: name.into(),
            server: server.map(Into::into),
            args: args.into(),
            ..ToolCall::default()
        };
        let calls = [
            made("a", None, json!({"x": 1, "y": 2})),
            made("a", None, json!({"y": 2, "x": 1.0})),
            made("a", Some("s"), json!({"x": 1, "y": 2})),
            made("b", None, Value::Null),
            made("b", None, json!({})),
            made("b,null", None, json!({})),
            made("a", None, json!({"x": 1, "y": 2})),
            made("b", None, Value::Null),
        ];
        let of = |calls: &[ToolCall]| {
            let identities: Vec<Identity<'_>> = calls.iter().map(Identity::of).collect();
            first_equal(&identities)
        };
        assert_eq!(of(&calls), [0, 0, 2, 3, 4, 5, 0, 7], "null is unknown");
        assert_eq!(of(&[]), Vec::<usize>::new());
        let other = Identity::with_args(&calls[0], r#"{"y":2.0,"x":1}"#);
        assert_eq!(first_equal(&[other, Identity::of(&calls[0])]), [0, 0]);
    }

    proptest! {
        #[test]
        fn the_first_that_is_the_same_is_found(
            calls in prop::collection::vec(("[ab]", prop::option::of("[ab]"), json_values()), 0..8),
        ) {
            let calls: Vec<ToolCall> = calls
                .into_iter()
                .map(|(name, server, args)| ToolCall { name, server, args: args.into(), ..ToolCall::default() })
                .collect();
            let calls: Vec<ToolCall> = calls.iter().chain(&calls).cloned().collect();
            let identities: Vec<Identity<'_>> = calls.iter().map(Identity::of).collect();
            let texts: Vec<Option<String>> = calls.iter().map(call).collect();
            for (place, first) in first_equal(&identities).into_iter().enumerate() {
                let expected = match &texts[place] {
                    Some(_) => texts.iter().position(|text| *text == texts[place]),
                    None => Some(place),
                };
                prop_assert_eq!(Some(first), expected);
            }
        }

        #[test]
        fn equality_and_text_agree(one in json_values(), other in json_values()) {
            prop_assert!(equal(&one, &one));
            prop_assert_eq!(equal(&one, &other), text(&one) == text(&other));
            let read: Value = serde_json::from_str(&text(&one)).unwrap();
            prop_assert!(equal(&read, &one), "{} {}", read, one);
        }
    }
}
