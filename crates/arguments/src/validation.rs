//! The judge of what was made: the `jsonschema` crate, kept off the network.

pub use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ValidationError};
use mcprove_settings::json_schema::{self, Remote};

use crate::prelude::*;

/// Longest reason that is passed on: messages quote the value.
const REASON_CHARACTERS_MAX: usize = 200;
/// Failures looked at in one attempt.
const FAILURES_MAX: usize = 16;
/// Branches within branches that are looked into for the cause of a failure.
const BRANCH_LEVELS_MAX: usize = 8;
/// Read by a schema that does not name its draft, in this order.
const DRAFTS: [Draft; 3] = [Draft::Draft202012, Draft::Draft7, Draft::Draft4];

/// Compiles a schema. One that names no known draft is read by the first draft that accepts it.
pub fn compile(schema: &Value) -> Result<Validator> {
    let error = match build(schema, None) {
        Ok(validator) => return Ok(validator),
        Err(error) => error,
    };
    let known = schema["$schema"]
        .as_str()
        .is_some_and(|name| name.contains("json-schema.org"));
    if let (Value::Object(keywords), false) = (schema, known) {
        let mut keywords = keywords.clone();
        keywords.remove("$schema");
        let undeclared = Value::Object(keywords);
        for draft in DRAFTS {
            if let Ok(validator) = build(&undeclared, Some(draft)) {
                return Ok(validator);
            }
        }
    }
    Err(invalid(&error))
}

/// Compiles a schema in which nothing refers elsewhere.
pub fn compile_strict(schema: &Value) -> Result<Validator> {
    json_schema::compile(schema, None, Remote::Refused).map_err(|error| invalid(&error))
}

fn invalid(error: &ValidationError<'_>) -> ArgumentsError {
    let (place, reason) = described(error);
    ArgumentsError::InvalidSchema { place, reason }
}

/// Where an error is, and what it is.
fn described(error: &ValidationError<'_>) -> (String, String) {
    let reason = shorten(&error.to_string(), REASON_CHARACTERS_MAX);
    (error.instance_path().as_str().to_owned(), reason)
}

/// Where a value fails, and why, one by one.
pub fn failures<'v>(
    validator: &'v Validator,
    value: &'v Value,
) -> impl Iterator<Item = (String, String)> {
    validator.iter_errors(value).map(|error| described(&error))
}

/// A remote part that is not needed does no harm; where it is needed, the walk before the validation
/// reports it.
fn build(schema: &Value, draft: Option<Draft>) -> Result<Validator, ValidationError<'static>> {
    json_schema::compile(schema, draft, Remote::NothingValid)
}

/// Where a value fails, and why: the failure nearest to what has to change. None if the value is valid.
pub fn find_failure(validator: &Validator, value: &Value) -> Option<(String, String)> {
    if validator.is_valid(value) {
        return None;
    }
    let errors: Vec<_> = validator.iter_errors(value).take(FAILURES_MAX).collect();
    let deepest = deepest(&errors, 0).map(|error| {
        let place = error.instance_path().as_str().to_owned();
        let reason = shorten(&error.masked().to_string(), REASON_CHARACTERS_MAX);
        (place, reason)
    });
    // A value that fails without an error fails as a whole.
    deepest.or_else(|| Some((String::new(), "the value is not valid".to_owned())))
}

/// The deepest error. Where no branch fits, the branch that came furthest is searched.
fn deepest<'errors, 'value>(
    errors: &'errors [ValidationError<'value>],
    level: usize,
) -> Option<&'errors ValidationError<'value>> {
    let in_furthest_branch = |error: &'errors ValidationError<'value>| match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }
            if level < BRANCH_LEVELS_MAX =>
        {
            let furthest = context
                .iter()
                .max_by_key(|branch| branch.iter().map(depth).min().unwrap_or(0))?;
            deepest(furthest, level + 1).filter(|inner| depth(inner) > depth(error))
        }
        _ => None,
    };
    errors
        .iter()
        .map(|error| in_furthest_branch(error).unwrap_or(error))
        .max_by_key(|error| depth(error))
}

fn depth(error: &ValidationError<'_>) -> usize {
    error.instance_path().as_str().matches('/').count()
}

/// Compiles a `pattern` by itself, with the same meaning that it has in the schema.
pub fn compile_pattern(pattern: &str) -> Option<Validator> {
    build(&json!({ "pattern": pattern }), None).ok()
}
