//! Attribute values in the form of OTLP JSON, and as plain JSON.

use crate::prelude::*;

/// The attributes of a span: a list of `{key, value}`, or, as some tools write it, an object.
pub fn attributes(attributes: Value) -> BTreeMap<String, Value> {
    match attributes {
        Value::Object(object) => object.into_iter().collect(),
        list => pairs(list),
    }
}

/// One attribute.
#[derive(Deserialize)]
struct Pair {
    key: String,
    #[serde(default)]
    value: Value,
}

fn pairs<All: FromIterator<(String, Value)>>(list: Value) -> All {
    self::list::<Pair>(list)
        .into_iter()
        .map(|pair| (pair.key, plain(pair.value)))
        .collect()
}

/// The elements of a list that can be read.
pub fn list<Read: DeserializeOwned>(list: Value) -> Vec<Read> {
    let Value::Array(list) = list else {
        return Vec::new();
    };
    list.into_iter()
        .map(serde_json::from_value)
        .filter_map(Result::ok)
        .collect()
}

pub fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
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
        // 64-bit numbers are texts in OTLP JSON.
        return number
            .as_str()
            .and_then(|text| text.parse::<i64>().ok())
            .map_or(number, Value::from);
    }
    let mut values = |key: &str| {
        let values = value.remove(key)?.get_mut("values").map(Value::take);
        Some(values.unwrap_or_default())
    };
    if let Some(values) = values("arrayValue") {
        return list::<Value>(values).into_iter().map(plain).collect();
    }
    values("kvlistValue").map_or(Value::Null, |pairs| Value::Object(self::pairs(pairs)))
}

/// A number that may be written as a text.
pub fn unsigned(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}

/// A value that may be written as a JSON text, because the exporter knows no structure.
pub fn structured(value: Value) -> Value {
    match &value {
        Value::String(text) if text.trim_start().starts_with(['{', '[', '"']) => {
            serde_json::from_str(text).unwrap_or(value)
        }
        Value::String(text) if text.trim() == "null" => Value::Null,
        _ => value,
    }
}

/// The arguments of a call. An instrumentation that records nothing, or null, saw none.
pub fn arguments(arguments: Value) -> Json {
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
