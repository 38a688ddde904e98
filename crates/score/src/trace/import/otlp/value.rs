//! Attribute values in the form of OTLP JSON, and as plain JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::trace::Json;

/// The attributes of a span: a list of `{key, value}`, or, as some tools write it, an object.
pub(super) fn attributes(attributes: Value) -> BTreeMap<String, Value> {
    match attributes {
        Value::Array(list) => list.into_iter().filter_map(pair).collect(),
        Value::Object(object) => object.into_iter().collect(),
        _ => BTreeMap::new(),
    }
}

fn pair(pair: Value) -> Option<(String, Value)> {
    let Value::Object(mut pair) = pair else {
        return None;
    };
    match pair.remove("key")? {
        Value::String(key) => Some((key, plain(pair.remove("value").unwrap_or_default()))),
        _ => None,
    }
}

/// The value without the name of its type. Recursion ends where the parser ended: no parsed value
/// is nested deeper than it allows.
fn plain(value: Value) -> Value {
    let Value::Object(mut value) = value else {
        return value;
    };
    for key in ["stringValue", "boolValue", "doubleValue", "bytesValue"] {
        if let Some(value) = value.remove(key) {
            return value;
        }
    }
    if let Some(number) = value.remove("intValue") {
        return integer(number);
    }
    let mut list = |key: &str| match value.remove(key)?.get_mut("values").map(Value::take) {
        Some(Value::Array(values)) => Some(values),
        _ => Some(Vec::new()),
    };
    if let Some(values) = list("arrayValue") {
        return values.into_iter().map(plain).collect();
    }
    match list("kvlistValue") {
        Some(pairs) => Value::Object(pairs.into_iter().filter_map(pair).collect::<Map<_, _>>()),
        None => Value::Null,
    }
}

/// 64-bit numbers are texts in OTLP JSON.
fn integer(number: Value) -> Value {
    match number.as_str().map(str::parse::<i64>) {
        Some(Ok(number)) => Value::from(number),
        _ => number,
    }
}

/// A number that may be written as a text.
pub(super) fn unsigned(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}

/// A value that may be written as a JSON text, because the exporter knows no structure.
pub(super) fn structured(value: Value) -> Value {
    match &value {
        Value::String(text) if text.trim_start().starts_with(['{', '[', '"']) => {
            serde_json::from_str(text).unwrap_or(value)
        }
        Value::String(text) if text.trim() == "null" => Value::Null,
        _ => value,
    }
}

/// The arguments of a call. An instrumentation that records nothing, or null, saw none.
pub(super) fn arguments(arguments: Value) -> Json {
    match structured(arguments) {
        Value::Null => Json::empty(),
        Value::String(text) if text.trim().is_empty() => Json::empty(),
        arguments => arguments.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_type_has_a_plain_value() {
        for (value, expected) in [
            (json!({"stringValue": "a"}), json!("a")),
            (json!({"boolValue": true}), json!(true)),
            (json!({"intValue": "42"}), json!(42)),
            (json!({"intValue": 42}), json!(42)),
            (json!({"intValue": "many"}), json!("many")),
            (json!({"doubleValue": 0.5}), json!(0.5)),
            (
                json!({"arrayValue": {"values": [{"stringValue": "stop"}, {"intValue": "1"}]}}),
                json!(["stop", 1]),
            ),
            (json!({"arrayValue": {}}), json!([])),
            (
                json!({"kvlistValue": {"values": [
                    {"key": "city", "value": {"stringValue": "Paris"}},
                    {"key": "days", "value": {"arrayValue": {"values": [{"intValue": "1"}]}}}]}}),
                json!({"city": "Paris", "days": [1]}),
            ),
            (json!({}), json!(null)),
            (json!("plain"), json!("plain")),
        ] {
            assert_eq!(plain(value.clone()), expected, "{value}");
        }
    }
}
