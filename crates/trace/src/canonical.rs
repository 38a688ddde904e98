//! When two values, or two calls, are the same: JSON with sorted keys, no spaces, and one way to
//! write each number. Keys in another order do not make another value, nor does `1.0` for `1`.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Number;

use crate::ToolCall;
use crate::prelude::*;

/// Whole numbers in floating point are written with every digit up to here: beyond all that have 64 bits.
const WHOLE_FLOAT_MAX: f64 = 1e21;

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

/// The value with sorted keys, no spaces, and one way to write each number. What is nested deeply was refused by
/// whoever read it (128 levels), which bounds the recursion.
pub fn text(value: &Value) -> String {
    match value {
        Value::Number(number) => number_text(number),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(text).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            // Sorted here: whether the map is depends on features that other crates turn on.
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            let members: Vec<String> = members
                .into_iter()
                .map(|(key, member)| format!("{}:{}", Value::from(key.as_str()), text(member)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}

fn number_text(number: &Number) -> String {
    match number.as_f64() {
        // Also minus zero.
        Some(0.0) => "0".to_owned(),
        Some(value) if number.is_f64() => {
            // Every digit: the shortest text of a large one is that of another whole number.
            if value.fract() == 0.0 && value.abs() < WHOLE_FLOAT_MAX {
                format!("{value:.0}")
            } else {
                value.to_string()
            }
        }
        _ => number.to_string(),
    }
}

/// Whether two values are the same, however their numbers are written and their keys are ordered.
pub fn equal(one: &Value, other: &Value) -> bool {
    one == other || text(one) == text(other)
}

/// A number for a JSON text, the same for texts with the same canonical JSON. What is no JSON, or too deep for the
/// parser, is only the same as itself. Different values may share one by chance, so that whoever finds two equal
/// ones must look.
pub fn fingerprint(text: &str) -> u64 {
    hash(&normal(text))
}

/// The hash of anything, the same in every process.
fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The canonical form of a JSON text; what is no JSON stays as it is.
fn normal(text: &str) -> String {
    canonical(text).unwrap_or_else(|_| text.to_owned())
}

/// What makes a call the same as another one: its name, server, client and arguments. A call whose arguments
/// are unknown is the same as itself alone.
#[derive(Debug, Clone)]
pub struct Identity<'a> {
    call: &'a ToolCall,
    args: Option<Cow<'a, str>>,
}

impl<'a> Identity<'a> {
    /// The identity of a call.
    pub fn of(call: &'a ToolCall) -> Self {
        let args = (!call.args.is_null()).then(|| call.args.text().into());
        Self { call, args }
    }

    /// The identity of a call, as if these were its arguments, as JSON.
    pub fn with_args(call: &'a ToolCall, args: impl Into<Cow<'a, str>>) -> Self {
        let args = Some(args.into());
        Self { call, args }
    }

    fn caller(&self) -> (&str, Option<&str>, Option<u32>) {
        let ToolCall {
            name,
            server,
            client,
            ..
        } = self.call;
        (name, server.as_deref(), *client)
    }

    /// Equal for calls that are the same; `None` for one that is the same as no other.
    fn fingerprint(&self) -> Option<u64> {
        let args = fingerprint(self.args.as_deref()?);
        Some(hash(&(self.caller(), args)))
    }

    /// Whether the calls are the same, where the arguments of both are known.
    fn is_same(&self, other: &Self) -> bool {
        let [args, others] = [self, other].map(|it| it.args.as_deref().unwrap_or_default());
        self.caller() == other.caller() && same_text(args, others)
    }
}

/// Whether two JSON texts are of the same value; what is no JSON is the same as itself alone.
pub fn same_text(one: &str, other: &str) -> bool {
    one == other || normal(one) == normal(other)
}

/// For each call the place of the first one that is the same. Only calls with the same fingerprint
/// are compared, so that a trace of many calls is gone through once.
pub fn first_equal(calls: &[Identity<'_>]) -> Vec<usize> {
    // The first of each kind: but for chance there is one.
    let mut kinds: HashMap<u64, Vec<(usize, &Identity<'_>)>> = HashMap::new();
    calls
        .iter()
        .enumerate()
        .map(|(place, call)| {
            let Some(print) = call.fingerprint() else {
                return place;
            };
            let known = kinds.entry(print).or_default();
            known
                .iter()
                .find(|(_, kind)| kind.is_same(call))
                .map(|(first, _)| *first)
                .unwrap_or_else(|| {
                    known.push((place, call));
                    place
                })
        })
        .collect()
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

    #[test]
    fn texts_of_the_same_value_share_a_fingerprint() {
        let cases = [
            (r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#, true),
            (r#"{"a":1}"#, r#"{"a":1.0}"#, true),
            ("[1e2,-0.0]", "[100,0]", true),
            (r#"{"a":2,"a":1}"#, r#"{"a":1}"#, true),
            (r#"{"\u0061":1}"#, r#"{"a":1}"#, true),
            ("1e21", "1000000000000000000000", true),
            ("0.1", "0.10", true),
            ("18446744073709551615", "18446744073709551616", false),
            ("[1,2]", "[2,1]", false),
            ("[1,[2]]", "[[1],2]", false),
            ("[]", "{}", false),
            ("null", "{}", false),
            (r#""1""#, "1", false),
            (r#""null""#, "null", false),
            (r#"{"a":1}"#, r#"{"a":1,"b":null}"#, false),
            ("no JSON", "no JSON", true),
            ("no JSON", "no  JSON", false),
        ];
        for (one, other, expected) in cases {
            assert_eq!(
                fingerprint(one) == fingerprint(other),
                expected,
                "{one} {other}"
            );
        }
        let deep = "[".repeat(100_000);
        assert_eq!(fingerprint(&deep), fingerprint(&deep));
    }

    proptest! {
        #[test]
        fn fingerprints_agree_with_canonical_json(one in json_values(), other in json_values()) {
            let of = |value: &Value| fingerprint(&value.to_string());
            prop_assert_eq!(of(&one) == of(&other), equal(&one, &other));
            prop_assert_eq!(of(&one), fingerprint(&text(&one)));
        }

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
