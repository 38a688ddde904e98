//! Arguments for a tool, made from its `inputSchema`: small, valid, harmless, and the same every time.
//!
//! The tool list comes before; what is made here is sent as the `arguments` of `tools/call`. A
//! value is made from the schema place by place, then judged by a validator. Where it fails, the
//! place that failed is made anew in another way, within limits. Nothing is ever fetched.

mod array;
mod check;
mod cost;
mod document;
mod error;
mod folder;
mod format;
mod keywords;
mod kind;
pub mod limits;
mod meaning;
mod number;
mod object;
mod pattern;
mod place;
mod requirements;
mod search;
mod text;
mod trail;
mod validation;

pub use check::SchemaCheck;
pub use error::ArgumentsError;
pub use folder::Folder;
pub use meaning::is_safeguard;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use document::Document;

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
pub fn from_schema(schema: &Value, choice: &Choice) -> Result<Value, ArgumentsError> {
    Maker::new(schema)?.make(choice)
}

/// The smallest arguments that `schema` allows.
pub fn minimal(schema: &Value) -> Result<Value, ArgumentsError> {
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

/// A schema made ready, for arguments that are made again and again with other tokens.
#[derive(Debug, Clone)]
pub struct Maker {
    schema: Value,
    /// Arguments are an object, whatever the schema says.
    object: Value,
    validator: jsonschema::Validator,
}

impl Maker {
    /// Checks and compiles a schema. A missing one (`null`) asks for nothing.
    pub fn new(schema: &Value) -> Result<Self, ArgumentsError> {
        document::check_size(schema)?;
        let schema = match schema {
            Value::Null => json!({}),
            schema => schema.clone(),
        };
        let document = Document::new(&schema);
        cost::Cost::new(&document).add_preparation(&schema)?;
        let validator = validation::compile(&schema)?;
        Ok(Self {
            schema,
            object: json!({"type": "object"}),
            validator,
        })
    }

    /// Makes the smallest arguments found; always a JSON object that the schema accepts.
    pub fn make(&self, choice: &Choice) -> Result<Value, ArgumentsError> {
        search::search(&self.schema, &self.object, &self.validator, choice)
    }
}
