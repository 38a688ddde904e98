//! `schema`: the value is valid under the given JSON Schema, of 2020-12 unless its `$schema` names
//! another draft. It is compiled when it is read, and what is wrong with it is an error then. A
//! reference to another document is an error too: nothing is ever fetched. `format` is checked, and a
//! keyword that looks like a slip (`minimun`) is refused, since JSON Schema would ignore it and let
//! everything pass.

use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use mcprove_settings::json_schema::{self, Remote};
use mcprove_settings::phrase;
use mcprove_settings::registry::nearest;
use serde_json::{Map, Value, json};

use super::difference::{Places, short};
use super::schema_words;
use super::{Answer, Difference, Entry, MatcherError, Rule};
use crate::gate::path::{kind, push_index, push_key};

pub const ENTRY: Entry = Entry {
    name: "schema",
    explanation: "the value is valid under the given JSON Schema",
    read,
};

struct Schema {
    given: Value,
    validator: Validator,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Schema({})", self.given)
    }
}

fn read(given: &Value) -> Result<Arc<dyn Rule>, MatcherError> {
    match given {
        Value::Object(keywords) => {
            refuse_slips(given)?;
            refuse_unknown(keywords)?;
        }
        Value::Bool(_) => {}
        other => {
            return Err(MatcherError::new(
                format!("a schema is a map, not {}", kind(other)),
                "write { schema: { minimum: 0.7 } }",
            ));
        }
    }
    match json_schema::compile(given, None, Remote::Refused) {
        Ok(validator) => Ok(Arc::new(Schema {
            given: given.clone(),
            validator,
        })),
        Err(error) => Err(explain(&error)),
    }
}

/// Refuses a keyword that JSON Schema does not know but that is close to one that it knows, in a schema
/// and in those inside it.
fn refuse_slips(schema: &Value) -> Result<(), MatcherError> {
    let Value::Object(keywords) = schema else {
        return Ok(());
    };
    for keyword in keywords.keys().filter(|keyword| !is_known(keyword)) {
        if let Some(close) = nearest(schema_words::keywords(), keyword) {
            return Err(MatcherError::new(
                format!("JSON Schema has no keyword {keyword:?}; did you mean {close:?}?"),
                "JSON Schema ignores what it does not know, so everything would pass",
            ));
        }
    }
    for (keyword, value) in keywords {
        // Reading bounds how deep schemas nest.
        for inner in schema_words::schemas_in(keyword, value) {
            refuse_slips(inner)?;
        }
    }
    Ok(())
}

fn is_known(keyword: &str) -> bool {
    schema_words::keywords().any(|known| known == keyword)
}

/// Refuses a map without any keyword that JSON Schema knows.
fn refuse_unknown(keywords: &Map<String, Value>) -> Result<(), MatcherError> {
    if !keywords.is_empty() && !keywords.keys().any(|keyword| is_known(keyword)) {
        let names: Vec<&String> = keywords.keys().collect();
        return Err(MatcherError::new(
            format!("JSON Schema knows none of {}", phrase::names(&names)),
            "a map with certain keys is { schema: { properties: { … }, required: [ … ] } }; \
             to compare values, use subset or exact",
        ));
    }
    Ok(())
}

/// Why a schema cannot be used.
fn explain(error: &ValidationError<'_>) -> MatcherError {
    let reason = phrase::text(&error.to_string());
    if matches!(error.kind(), ValidationErrorKind::Referencing(_)) {
        return MatcherError::new(
            format!("the schema refers to what is not in it, and nothing is fetched: {reason}"),
            "put what it refers to under `$defs`, and refer to it as \"#/$defs/…\"",
        );
    }
    let place = place(error);
    let at = if place.is_empty() {
        String::new()
    } else {
        format!(" at {place}")
    };
    MatcherError::new(
        format!("the JSON Schema is malformed{at}: {reason}"),
        "see https://json-schema.org for what a schema may hold",
    )
}

/// Where an error is inside the value, as a path goes on.
fn place(error: &ValidationError<'_>) -> String {
    let mut path = String::new();
    for segment in error.instance_path() {
        match segment {
            jsonschema::paths::LocationSegment::Property(key) => push_key(&mut path, &key),
            jsonschema::paths::LocationSegment::Index(index) => push_index(&mut path, index),
        }
    }
    path
}

impl Rule for Schema {
    fn answer(&self, actual: &Value) -> Answer {
        if self.is_about(actual) {
            Answer::of(self.validator.is_valid(actual))
        } else {
            Answer::Nothing
        }
    }

    fn difference(&self, actual: &Value) -> Difference {
        let mut places = Places::default();
        for error in self.validator.iter_errors(actual) {
            if places.is_full() {
                break;
            }
            let (expected, words) = self.demand(&error);
            let found: &Value = error.instance();
            let words = format!("expected {words}, got {}", short(found));
            places.add(&place(&error), expected, Some(found), words);
        }
        places
            .into_difference()
            .unwrap_or_else(|| Difference::whole(self.given.clone(), actual, &self.describe()))
    }

    fn describe(&self) -> String {
        schema_words::describe(&self.given)
            .unwrap_or_else(|| format!("valid under the schema {}", short(&self.given)))
    }
}

impl Schema {
    /// Whether the schema demands something of values of this kind: JSON Schema lets a text pass any
    /// `maximum`, and that proves nothing. One without demands lets everything pass, and means it.
    fn is_about(&self, actual: &Value) -> bool {
        let Value::Object(keywords) = &self.given else {
            return true;
        };
        let demands = keywords
            .keys()
            .filter_map(|keyword| schema_words::is_about(keyword, actual));
        let mut demands = demands.peekable();
        demands.peek().is_none() || demands.any(|is_about| is_about)
    }

    /// The keyword that a value breaks, and what it demands in plain words.
    fn demand(&self, error: &ValidationError<'_>) -> (Value, String) {
        let pointer = error.schema_path().as_str();
        let keyword = pointer.rsplit('/').next().unwrap_or_default();
        let broken = self.given.pointer(pointer);
        let expected = broken.map_or_else(|| self.given.clone(), |value| json!({ keyword: value }));
        let words = schema_words::describe(&expected)
            .unwrap_or_else(|| format!("what the schema allows ({})", error.masked()));
        (expected, phrase::text(&words))
    }
}
