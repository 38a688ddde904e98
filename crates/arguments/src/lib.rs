//! Arguments for a tool, made from its `inputSchema`: small, valid, harmless, and the same every time.
//!
//! The tool list comes before; what is made here is sent as the `arguments` of `tools/call`. A
//! value is made from the schema place by place, then judged by a validator. Where it fails, the
//! place that failed is made again in another way, within limits. Nothing is ever fetched.

mod compound;
mod cost;
mod document;
mod error;
mod folder;
pub mod limits;
mod meaning;
mod number;
#[cfg(feature = "schema")]
mod pattern;
mod place;
mod prelude;
mod requirements;
mod search;
mod text;
#[cfg(any(test, not(feature = "schema")))]
#[cfg_attr(feature = "schema", allow(dead_code, reason = "tested together"))]
mod unchecked;
#[cfg(feature = "schema")]
mod validation;
#[cfg(not(feature = "schema"))]
use {unchecked as pattern, unchecked as validation};

pub use error::ArgumentsError;
pub use folder::Folder;
pub use meaning::is_safeguard;

use cost::Cost;

use crate::prelude::*;

/// Whether values can be checked against schemas.
pub const CAN_CHECK: bool = cfg!(feature = "schema");

/// What to choose where the schema leaves a choice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Choice {
    /// A text to be found again in the reply; some string of the arguments carries it where the
    /// schema allows one. Required strings come first. Where none can carry it, one optional
    /// property is added for it.
    pub token: Option<String>,
    /// Zero takes the first entry of every `enum`, `anyOf` and `oneOf`; other seeds take others.
    pub seed: u64,
    /// The folder that paths lie in; a [`Folder`] is one. Without it they lead nowhere.
    pub folder: Option<PathBuf>,
}

impl Choice {
    fn folder(&self) -> Cow<'_, Path> {
        self.folder
            .as_deref()
            .map_or_else(|| folder::nowhere().into(), Cow::from)
    }
}

/// Makes arguments for one schema; see [`Maker`] for many.
///
/// ```
/// use mcprove_arguments::{Choice, from_schema};
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {"message": {"type": "string"}, "loud": {"type": "boolean"}},
///     "required": ["message"]
/// });
/// let arguments = from_schema(&schema, &Choice::default()).unwrap();
/// assert_eq!(arguments, json!({"message": "text"}));
/// ```
pub fn from_schema(schema: &Value, choice: &Choice) -> Result<Value> {
    Maker::new(schema)?.make(choice)
}

/// The smallest arguments that `schema` allows.
pub fn minimal(schema: &Value) -> Result<Value> {
    from_schema(schema, &Choice::default())
}

/// Whether any string of the arguments contains the token.
pub fn carries_token(arguments: &Value, token: &str) -> bool {
    match arguments {
        Value::String(text) => text.contains(token),
        Value::Array(items) => items.iter().any(|item| carries_token(item, token)),
        Value::Object(members) => members.values().any(|member| carries_token(member, token)),
        _ => false,
    }
}

/// Checks and compiles a schema.
fn prepare(schema: &Value) -> Result<Validator> {
    document::check_size(schema)?;
    Cost::new(&Document::new(schema)).add_preparation(schema)?;
    validation::compile(schema)
}

/// A schema made ready, for arguments that are made again and again with other tokens.
#[derive(Debug, Clone)]
pub struct Maker {
    schema: Value,
    /// Arguments are an object, whatever the schema says.
    object: Value,
    validator: Validator,
}

impl Maker {
    /// Checks and compiles a schema. A missing one (`null`) asks for nothing.
    pub fn new(schema: &Value) -> Result<Self> {
        let schema = match schema {
            Value::Null => json!({}),
            schema => schema.clone(),
        };
        Ok(Self {
            validator: prepare(&schema)?,
            schema,
            object: json!({"type": "object"}),
        })
    }

    /// Makes the smallest arguments found; always a JSON object that the schema accepts.
    pub fn make(&self, choice: &Choice) -> Result<Value> {
        search::search(self, choice)
    }
}

/// A schema made ready to check values against that were not made here. Nothing is ever fetched.
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
pub struct SchemaCheck(Validator);

impl SchemaCheck {
    /// Checks and compiles a schema.
    pub fn new(schema: &Value) -> Result<Self> {
        if CAN_CHECK {
            prepare(schema).map(Self)
        } else {
            Self::strict(schema)
        }
    }

    /// Compiles a schema in which nothing refers elsewhere.
    pub fn strict(schema: &Value) -> Result<Self> {
        validation::compile_strict(schema).map(Self)
    }

    /// Where `value` does not fit, and why, one by one.
    pub fn failures<'v>(&'v self, value: &'v Value) -> impl Iterator<Item = (String, String)> {
        validation::failures(&self.0, value)
    }

    /// Where and why `value` does not fit; none if it does.
    pub fn failure(&self, value: &Value) -> Option<String> {
        let (place, reason) = validation::find_failure(&self.0, value)?;
        Some(if place.is_empty() {
            reason
        } else {
            format!("{place}: {reason}")
        })
    }
}
