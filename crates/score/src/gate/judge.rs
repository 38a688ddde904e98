//! One expectation against one value.

use super::path::kind;
use super::{Answer, Expectation, GateFailure};
use crate::prelude::*;

/// Bytes of a value, as JSON, that a failure shows.
const SHOWN_BYTES_MAX: usize = 4096;

/// Holds what an expectation's target, a path, leads to in a document against the expectation: what does
/// not hold, or nothing. A path that leads nowhere is an error, under `not` too. `flags` are the
/// targets whose 1 and 0 may be asked for as `true` and `false`.
///
/// ```
/// use mcprove_score::gate::{Expectation, Matcher, judge};
/// use serde_json::json;
///
/// let expectation = |target: &str, matcher| Expectation {
///     target: target.into(),
///     matcher: Matcher::from_value(&matcher).unwrap(),
/// };
/// let document = json!({ "is_error": false, "result": { "content": [] } });
/// let held = judge(&expectation("is_error", json!({ "exact": false })), &document, &[]);
/// assert_eq!(held, Ok(None));
/// let failure = judge(&expectation("is_error", json!({ "exact": true })), &document, &[]);
/// assert_eq!(failure.unwrap().unwrap().message.text(), "expected true, got false");
/// let nowhere = expectation("result.contents", json!({ "not": { "exact": 1 } }));
/// assert!(judge(&nowhere, &document, &[]).is_err());
/// ```
pub fn judge(
    expectation: &Expectation,
    document: &Value,
    flags: &[&str],
) -> ScoreResult<Option<GateFailure>> {
    let target = &expectation.target;
    let value = Path::parse(target)
        .and_then(|path| path.resolve(document))
        .map_err(|error| error.about(target))?;
    if flags.contains(&target.as_str()) {
        compare(expectation, &as_asked(expectation, value))
    } else {
        compare(expectation, &value)
    }
}

/// Flags are 1 and 0, and who asks for `true` or `false` means just that.
pub fn as_asked(expectation: &Expectation, value: Value) -> Value {
    let asks_for_flag = asks_for_flag(&expectation.matcher.to_value());
    match value.as_u64() {
        Some(0) if asks_for_flag => Value::Bool(false),
        Some(1) if asks_for_flag => Value::Bool(true),
        _ => value,
    }
}

/// Whether a matcher compares with `true` or `false`.
fn asks_for_flag(matcher: &Value) -> bool {
    const COMPARING: [&str; 8] = [
        "exact", "one_of", "const", "enum", "not", "all_of", "any_of", "schema",
    ];
    match matcher {
        Value::Bool(_) => true,
        Value::Array(parts) => parts.iter().any(asks_for_flag),
        Value::Object(parts) => parts
            .iter()
            .any(|(name, part)| COMPARING.contains(&name.as_str()) && asks_for_flag(part)),
        _ => false,
    }
}

/// Holds a value against an expectation: what does not hold, or nothing.
pub fn compare(expectation: &Expectation, value: &Value) -> ScoreResult<Option<GateFailure>> {
    let target = &expectation.target;
    let matcher = &expectation.matcher;
    match matcher.answer(value) {
        Answer::Yes => return Ok(None),
        Answer::No | Answer::NoByKind => {}
        Answer::Nothing => {
            return Err(ScoreError::new(
                target,
                sentence!(
                    "the value is {}, and the matcher ({}) is about another kind of value, so \
                     that it would prove nothing",
                    kind(value),
                    matcher.describe().short(),
                ),
                hint_for_kind(value),
            ));
        }
    }
    let Err(difference) = matcher.matches(value) else {
        return Ok(None);
    };
    Ok(Some(GateFailure {
        target: target.clone(),
        place: (!difference.path.is_empty()).then(|| format!("{target}{}", difference.path)),
        expected: shown(difference.expected),
        actual: shown(difference.actual),
        message: difference.message,
        ..GateFailure::default()
    }))
}

/// A value that is not too large to be shown, or how large it is and how it begins.
fn shown(value: Value) -> Value {
    let text = value.to_string();
    if text.len() <= SHOWN_BYTES_MAX {
        return value;
    }
    let size = whole(count(text.len()));
    Value::String(format!("{} ({size} bytes of JSON)", phrase::text(&text)))
}

fn hint_for_kind(value: &Value) -> Message {
    match value {
        Value::Array(_) => {
            sentence!(
                "of a list, `contains` asks for an element and `schema: {{ items: … }}` asks all of them"
            )
        }
        Value::Object(_) => {
            sentence!("of a map, `contains: {{ key: … }}` asks for some of its keys")
        }
        Value::Number(_) => {
            sentence!("of a number, `exact`, `one_of` and `schema: {{ minimum: … }}` say something")
        }
        _ => sentence!("of a text, `contains`, `regex` and `exact` say something"),
    }
}
