//! How a JSON Schema is compiled, here and by whoever uses this crate: formats are checked, patterns
//! have limits, and nothing is ever fetched. Compiling is a large piece of code that Rust makes again in
//! each crate that asks for it, so that one place keeps the program small.

use crate::prelude::*;
use jsonschema::{Draft, PatternOptions, Retrieve, Uri, ValidationError, Validator};

/// Steps back that one `pattern` may take on one text, before it counts as no match.
pub const PATTERN_BACKTRACK_MAX: usize = 50_000;

/// Bytes that one `pattern` may take when it is compiled.
pub const PATTERN_BYTES_MAX: usize = 1 << 20;

/// What a reference to another document comes to, since none is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remote {
    /// An error.
    Refused,
    /// Nothing is valid under it: a schema with a remote part that is not needed stays usable.
    NothingValid,
}

/// Compiles a schema, by the draft that it names, or else by the given one, or else by 2020-12.
///
/// ```
/// use mcprove_settings::json_schema::{Remote, compile};
/// use serde_json::json;
///
/// let validator = compile(&json!({"minimum": 0.7}), None, Remote::Refused).unwrap();
/// assert!(validator.is_valid(&json!(0.8)));
///
/// let elsewhere = json!({"$ref": "https://example.com/schema.json"});
/// assert!(compile(&elsewhere, None, Remote::Refused).is_err());
/// let validator = compile(&elsewhere, None, Remote::NothingValid).unwrap();
/// assert!(!validator.is_valid(&json!({})));
/// ```
pub fn compile(
    schema: &Value,
    draft: Option<Draft>,
    remote: Remote,
) -> Result<Validator, ValidationError<'static>> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(PATTERN_BACKTRACK_MAX)
        .size_limit(PATTERN_BYTES_MAX);
    let mut options = jsonschema::options()
        .should_validate_formats(true)
        .with_pattern_options(patterns);
    options = match remote {
        Remote::Refused => options.offline(),
        Remote::NothingValid => options.with_retriever(NeverFetched),
    };
    if let Some(draft) = draft {
        options = options.with_draft(draft);
    }
    options.build(schema)
}

/// Answers every remote reference with "nothing is valid".
struct NeverFetched;

impl Retrieve for NeverFetched {
    fn retrieve(
        &self,
        _uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Value::Bool(false))
    }
}
