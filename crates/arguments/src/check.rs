//! Whether a value fits a schema, for values that were not made here.

use serde_json::Value;

use super::validation::{compile, find_failure};
use super::{ArgumentsError, cost, document};

/// A schema made ready to check values against. Nothing is ever fetched.
///
/// ```
/// use mcprove_arguments::SchemaCheck;
/// use serde_json::json;
///
/// let check = SchemaCheck::new(&json!({ "type": "object", "required": ["a"] })).unwrap();
/// assert_eq!(check.failure(&json!({ "a": 1 })), None);
/// assert!(check.failure(&json!({})).unwrap().contains("a"));
/// ```
#[derive(Debug, Clone)]
pub struct SchemaCheck {
    validator: jsonschema::Validator,
}

impl SchemaCheck {
    /// Checks and compiles a schema.
    pub fn new(schema: &Value) -> Result<Self, ArgumentsError> {
        document::check_size(schema)?;
        let document = document::Document::new(schema);
        cost::Cost::new(&document).add_preparation(schema)?;
        Ok(Self {
            validator: compile(schema)?,
        })
    }

    /// Where and why `value` does not fit; none if it does.
    pub fn failure(&self, value: &Value) -> Option<String> {
        find_failure(&self.validator, value).map(|failure| {
            if failure.place.is_empty() {
                failure.reason
            } else {
                format!("{}: {}", failure.place, failure.reason)
            }
        })
    }
}
