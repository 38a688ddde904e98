//! What stands in for the judge where it is not built: a schema is taken if values that fit it are made by construction,
//! and refused otherwise.

use crate::prelude::*;

/// Keywords that a value may break though it was made for them.
const CHECKED: &str = "pattern format patternProperties propertyNames oneOf not if dependentSchemas dependentRequired dependencies contains \
     uniqueItems unevaluatedProperties unevaluatedItems minProperties maxProperties $dynamicRef $recursiveRef contentEncoding";

/// A pattern, which is not looked into.
pub enum Pattern {}

impl Pattern {
    pub const fn parse(_: &str) -> Option<Self> {
        None
    }

    pub const fn write(&self, _: usize, _: usize) -> Option<String> {
        match *self {}
    }
}

/// A schema that needs no judge.
#[derive(Debug, Clone, PartialEq)]
pub struct Validator;

pub fn compile(schema: &Value) -> Result<Validator> {
    find_checked(schema).map_or(Ok(Validator), |keyword| {
        Err(ArgumentsError::NotBuilt(format!(
            "a schema with `{keyword}`"
        )))
    })
}

/// Takes a schema that any arguments fit.
pub fn compile_strict(schema: &Value) -> Result<Validator> {
    if [json!({}), json!({ "type": "object" })].contains(schema) {
        return Ok(Validator);
    }
    Err(ArgumentsError::NotBuilt("a check against a schema".into()))
}

/// A keyword that only the judge knows.
fn find_checked(schema: &Value) -> Option<&str> {
    let mut keywords = schema.as_object()?.iter();
    keywords.find_map(|(keyword, value)| match (keyword.as_str(), value) {
        (keyword, _) if has_word(CHECKED, keyword) => Some(keyword),
        ("enum" | "const" | "default" | "examples" | "example", _) => None,
        ("properties" | "$defs" | "definitions", Value::Object(schemas)) => {
            schemas.values().find_map(find_checked)
        }
        (_, Value::Array(schemas)) => schemas.iter().find_map(find_checked),
        (_, schema) => find_checked(schema),
    })
}

pub fn failures(_: &Validator, _: &Value) -> impl Iterator<Item = (String, String)> {
    std::iter::empty()
}

pub const fn find_failure(_: &Validator, _: &Value) -> Option<(String, String)> {
    None
}

pub const fn compile_pattern(_: &str) -> Option<Validator> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, Maker, validation};

    #[test]
    fn what_is_taken_without_a_judge_is_made_right_at_once() {
        let schemas = [
            json!({}),
            json!({ "type": "object", "properties": { "a": { "type": "string", "minLength": 3, "maxLength": 4 } }, "required": ["a"] }),
            json!({ "properties": { "n": { "type": "integer", "minimum": 7, "exclusiveMaximum": 9, "multipleOf": 2 } }, "required": ["n"] }),
            json!({ "properties": { "n": { "type": ["null", "number"] }, "e": { "enum": [{ "not": 1 }] } }, "required": ["n", "e"] }),
            json!({ "properties": { "l": { "type": "array", "items": { "$ref": "#/$defs/i" }, "minItems": 2 } }, "required": ["l"],
                    "$defs": { "i": { "type": "object", "properties": { "b": { "type": "boolean" } }, "required": ["b"] } } }),
            json!({ "properties": { "f": { "type": "number", "minimum": 0.15, "multipleOf": 0.1 }, "c": { "const": [1] } }, "required": ["f", "c"] }),
            json!({ "properties": { "x": { "anyOf": [{ "type": "integer" }, { "type": "string" }] } }, "required": ["x"], "additionalProperties": false }),
            json!({ "allOf": [{ "required": ["p"] }, { "properties": { "p": { "type": "string", "minLength": 20 } } }] }),
        ];
        for schema in schemas {
            assert_eq!(compile(&schema), Ok(Validator), "{schema}");
            let validator = validation::compile(&schema).unwrap();
            let unjudged = Maker {
                object: json!({ "type": "object" }),
                validator: validation::compile(&json!({})).unwrap(),
                schema: schema.clone(),
            };
            for seed in 0..20 {
                let token = (seed % 2 == 0).then(|| "tok-1234".to_owned());
                let choice = Choice {
                    token,
                    seed,
                    ..Choice::default()
                };
                let made = unjudged.make(&choice).unwrap();
                assert!(validator.is_valid(&made), "{schema} {made}");
            }
        }
    }

    #[test]
    fn what_needs_a_judge_is_refused_with_the_feature() {
        for (schema, keyword) in [
            (
                json!({ "properties": { "a": { "pattern": "^x" } } }),
                "pattern",
            ),
            (json!({ "items": [{ "not": {} }] }), "not"),
            (
                json!({ "$defs": { "oneOf": { "uniqueItems": true } } }),
                "uniqueItems",
            ),
        ] {
            let error = compile(&schema).unwrap_err().to_string();
            let expected = format!(
                "a schema with `{keyword}` needs the feature `schema` of mcprove, which is not built"
            );
            assert_eq!(error, expected);
        }
        // What is called like a keyword is none.
        assert_eq!(
            compile(&json!({ "properties": { "oneOf": {} }, "enum": [{ "not": 1 }] })),
            Ok(Validator)
        );
        assert!(compile_strict(&json!({ "required": ["a"] })).is_err());
    }
}
