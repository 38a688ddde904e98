//! A piece of JSON that is kept as the text that it came in until somebody looks into it: a trace
//! of a million calls fits into memory, where a million trees would not.

use serde::de::Error as _;
use serde::ser::Error as _;

use crate::canonical;
use crate::prelude::*;
use crate::protocol::{depth, is_doubtful};

const NULL: &str = "null";

/// A JSON value, as text. By default it is null: nothing is known.
///
/// ```
/// use mcprove_trace::Json;
/// use serde_json::json;
///
/// let arguments: Json = serde_json::from_str(r#"{"b": 1, "a": 2}"#).unwrap();
/// assert_eq!(arguments.value(), json!({"a": 2, "b": 1}));
/// assert_eq!(arguments, Json::from(json!({"b": 1.0, "a": 2})));
/// assert!(Json::default().is_null());
/// ```
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(transparent, inline)]
pub struct Json(
    /// The text; empty for null, so that a million results that nobody knows take no memory.
    #[schemars(with = "Value")]
    Box<str>,
);

impl Json {
    /// An object without keys.
    pub fn empty() -> Self {
        Self("{}".into())
    }

    /// The value.
    pub fn value(&self) -> Value {
        // It was a value when it came in.
        serde_json::from_str(self.text()).unwrap_or_default()
    }

    /// The text, as it came in.
    pub fn text(&self) -> &str {
        if self.0.is_empty() { NULL } else { &self.0 }
    }

    fn of(text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        Self(if &*text == NULL { Box::default() } else { text })
    }

    /// Whether it is null: nothing is known.
    pub fn is_null(&self) -> bool {
        self.0.is_empty()
    }
}

/// Two texts of the same value are equal, however its numbers are written.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || canonical::equal(&self.value(), &other.value())
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::of(value.to_string())
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        Self::of(value.to_string())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.text()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        // What cannot be looked into later is refused here, where it has a place.
        if depth(text.as_bytes()) > DEPTH_MAX {
            let message = format!("nested deeper than {DEPTH_MAX} levels");
            return Err(D::Error::custom(message));
        }
        if is_doubtful(&text)
            && let Err(error) = serde_json::from_str::<Value>(&text)
        {
            return Err(D::Error::custom(error));
        }
        Ok(Self::of(text))
    }
}

/// How deep values may nest: less than the parser allows.
const DEPTH_MAX: usize = 120;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_survive_the_way_through_text_and_trees() {
        let value = json!({"a": [1, 2.5, "x\"]["], "b": null});
        let kept = Json::from(&value);
        assert_eq!(kept.value(), value);
        assert_eq!(serde_json::to_value(&kept).unwrap(), value);
        assert_eq!(serde_json::from_value::<Json>(value.clone()).unwrap(), kept);
        let spaced: Json =
            serde_json::from_str("{ \"b\" : null, \"a\":[1,2.5,\"x\\\"][\"] }").unwrap();
        assert_eq!(spaced, kept);
        for null in [
            Json::default(),
            Json::from(Value::Null),
            serde_json::from_str(" null ").unwrap(),
        ] {
            assert!(null.is_null());
            assert_eq!(null.text(), "null");
            assert_eq!(null.value(), Value::Null);
            assert_eq!(serde_json::to_string(&null).unwrap(), "null");
        }
    }

    #[test]
    fn texts_of_the_same_value_are_equal() {
        let read = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        assert_eq!(
            read(r#"{"a": 1, "b": [2]}"#),
            read(r#"{"b":[2.0],"a":1.0}"#)
        );
        assert_ne!(read("1"), read("\"1\""));
        assert_ne!(read("null"), read("{}"));
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for text in ["1e999", "[-1E+999]", r#"{"a":"\ud800"}"#, &"9".repeat(400)] {
            assert!(serde_json::from_str::<Json>(text).is_err(), "{text}");
        }
        for text in ["1e30", r#""\ud83d\ude00""#, r#""1e999""#] {
            assert!(serde_json::from_str::<Json>(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        let nest = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(serde_json::from_str::<Json>(&nest(DEPTH_MAX)).is_ok());
        let error = serde_json::from_str::<Json>(&nest(100_000)).unwrap_err();
        assert!(error.to_string().contains("deeper than 120"), "{error}");
        assert!(serde_json::from_str::<Json>(r#""[[[[\\\"[[""#).is_ok());
    }
}
