//! The types of JSON Schema.

use serde_json::Value;

/// A type that a schema may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Text,
    Integer,
    Number,
    Boolean,
    Array,
    Null,
}

impl Kind {
    /// Every kind, the most telling argument first.
    pub(super) const ALL: [Self; 7] = [
        Self::Text,
        Self::Integer,
        Self::Number,
        Self::Boolean,
        Self::Object,
        Self::Array,
        Self::Null,
    ];

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "string" => Self::Text,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "array" => Self::Array,
            "null" => Self::Null,
            _ => return None,
        })
    }

    /// The kind that both allow: an integer is a number too.
    pub(super) fn meet(self, other: Self) -> Option<Self> {
        match (self, other) {
            (left, right) if left == right => Some(left),
            (Self::Integer, Self::Number) | (Self::Number, Self::Integer) => Some(Self::Integer),
            _ => None,
        }
    }

    pub(super) fn includes(self, value: &Value) -> bool {
        match self {
            Self::Object => value.is_object(),
            Self::Text => value.is_string(),
            Self::Integer => {
                value.is_i64()
                    || value.is_u64()
                    || value.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Null => value.is_null(),
        }
    }

    /// The kind that a keyword is about, for schemas that name no type.
    pub(super) fn of_keyword(keyword: &str) -> Option<Self> {
        Some(match keyword {
            "properties"
            | "required"
            | "additionalProperties"
            | "patternProperties"
            | "minProperties"
            | "propertyNames" => Self::Object,
            "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding"
            | "contentMediaType" => Self::Text,
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                Self::Number
            }
            "items" | "prefixItems" | "minItems" | "maxItems" | "uniqueItems" | "contains" => {
                Self::Array
            }
            _ => return None,
        })
    }
}
