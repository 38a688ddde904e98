//! Arguments that make a tool slow: of one that is told how long to take.

use mcprove_trace::words::tokens;

use crate::prelude::*;

/// Words for how long something takes, of whatever unit.
const DURATION_WORDS: [&str; 8] = [
    "delay", "duration", "sleep", "wait", "pause", "latency", "ms", "seconds",
];
/// Words that make another number of it: how long at most, or how often.
const OTHER_WORDS: [&str; 6] = ["max", "timeout", "deadline", "limit", "retry", "interval"];
const MILLISECOND_WORDS: [&str; 5] = ["ms", "millis", "milliseconds", "millisecond", "msec"];
const SECOND_WORDS: [&str; 5] = ["s", "sec", "secs", "second", "seconds"];
/// A default from which on a number without a unit is of milliseconds.
const MILLISECONDS_FROM: f64 = 20.0;

/// The argument of this schema that says how long a call takes, with a value for about `time`, within the limits of the
/// schema; none if there is no such argument, or a call would take longer than `most`.
pub fn slow_argument(schema: &Value, time: Duration, most: Duration) -> Option<(String, Value)> {
    let properties = schema.get("properties")?.as_object()?;
    properties.iter().find_map(|(name, property)| {
        let value = value_of(name, property, time, most)?;
        Some((name.clone(), value))
    })
}

fn value_of(name: &str, property: &Value, time: Duration, longest: Duration) -> Option<Value> {
    let words = tokens(name);
    let is_whole = match property.get("type")?.as_str()? {
        "integer" => true,
        "number" => false,
        _ => return None,
    };
    let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let is_duration = has(&DURATION_WORDS) || has(&MILLISECOND_WORDS) || has(&SECOND_WORDS[1..]);
    if !is_duration || has(&OTHER_WORDS) {
        return None;
    }
    let per_second = if is_in_milliseconds(&words, property) {
        1000.0
    } else {
        1.0
    };
    let limit = |name: &str| property.get(name).and_then(Value::as_f64);
    let wanted = time.as_secs_f64() * per_second;
    let least = limit("minimum").unwrap_or(0.0);
    let most = limit("maximum").unwrap_or(f64::INFINITY);
    let mut value = wanted.min(most).max(least);
    if is_whole {
        value = value.ceil();
    }
    // A tool that cannot be as slow as that would show nothing, and one that is much slower would hang.
    let is_fit = value <= most && value > 0.0 && value <= longest.as_secs_f64() * per_second;
    let whole = is_whole.then(|| format!("{value}").parse::<u64>().ok());
    is_fit.then(|| match whole {
        Some(whole) => whole.map(Value::from),
        None => Some(Value::from(value)),
    })?
}

/// By the unit in its name, else in its description, else by the size of its default.
fn is_in_milliseconds(words: &[String], property: &Value) -> bool {
    let description = property.get("description").and_then(Value::as_str);
    let described = tokens(description.unwrap_or_default());
    for words in [words, &described] {
        let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
        if has(&MILLISECOND_WORDS) {
            return true;
        }
        if has(&SECOND_WORDS) {
            return false;
        }
    }
    let default = property.get("default").and_then(Value::as_f64);
    default.is_some_and(|default| default >= MILLISECONDS_FROM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_that_says_how_long_is_found_with_its_unit() {
        let time = Duration::from_millis(500);
        let cases = [
            ("delay_ms", json!({ "type": "integer" }), Some(json!(500))),
            (
                "durationMs",
                json!({ "type": "number" }),
                Some(json!(500.0)),
            ),
            ("seconds", json!({ "type": "number" }), Some(json!(0.5))),
            ("seconds", json!({ "type": "integer" }), Some(json!(1))),
            (
                "ms",
                json!({ "type": "integer", "maximum": 200 }),
                Some(json!(200)),
            ),
            ("ms", json!({ "type": "integer", "minimum": 5000 }), None),
            (
                "duration",
                json!({ "type": "integer", "description": "How long, in milliseconds" }),
                Some(json!(500)),
            ),
            (
                "delay",
                json!({ "type": "number", "default": 100 }),
                Some(json!(500.0)),
            ),
            (
                "delay",
                json!({ "type": "number", "default": 0.1 }),
                Some(json!(0.5)),
            ),
            ("max_wait_ms", json!({ "type": "integer" }), None),
            ("timeout_ms", json!({ "type": "integer" }), None),
            ("delay", json!({ "type": "string" }), None),
            ("count", json!({ "type": "integer" }), None),
        ];
        for (name, property, expected) in cases {
            let schema = json!({ "type": "object", "properties": { name: property } });
            let found = slow_argument(&schema, time, 2 * time);
            let expected = expected.map(|value| (name.to_owned(), value));
            assert_eq!(found, expected, "{schema}");
        }
        assert_eq!(slow_argument(&Value::Null, time, time), None);
    }
}
