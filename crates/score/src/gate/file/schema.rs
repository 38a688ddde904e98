//! The JSON Schema of a gates file, for editors and other programs: `gates.v1`.
//!
//! It is made from the table of keys. It cannot say all that the reader checks (which targets there
//! are, what is a path), but takes everything that the reader takes.

use mcprove_settings::table::{map_schema, spellings};
use schemars::Schema;

use super::EXPECT;
use crate::agent::METRICS;
use crate::agent::call_limits::limit_schema;
use crate::agent::trajectory::shape_schema;
use crate::gate::Matcher;
use crate::prelude::*;

/// The schema.
pub fn schema() -> Schema {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Gates",
        "description": "What `mcprove score` holds agent traces to, in YAML.",
        "type": "object",
        "properties": block_properties("#/properties"),
        "minProperties": 1,
        "additionalProperties": false,
        "$defs": definitions(),
    });
    Schema::try_from(schema).unwrap_or_default()
}

/// The blocks by name; `place` is where they stand in the schema.
pub fn block_properties(place: &str) -> Map<String, Value> {
    let schemas = METRICS
        .iter()
        .map(|metric| (metric.about().name, block_schema(*metric)));
    let any = expectations("What each run, or a target of any metric, must be");
    let mut blocks = Map::new();
    for (block, schema) in schemas.chain([(EXPECT, any)]) {
        let dashed = block.replace('_', "-");
        blocks.insert(dashed, json!({ "$ref": format!("{place}/{block}") }));
        blocks.insert(block.to_owned(), schema);
    }
    blocks
}

/// What the blocks refer to, below `$defs`.
pub fn definitions() -> Map<String, Value> {
    [
        ("shape", shape_schema()),
        ("limit", limit_schema()),
        ("expectation", expectation()),
        ("matcher", matcher()),
    ]
    .map(|(name, schema)| (name.to_owned(), schema))
    .into_iter()
    .collect()
}

fn block_schema(metric: &dyn AnyMetric) -> Value {
    let about = metric.about();
    let mut table = map_schema(metric.settings());
    table["properties"][EXPECT] = expectations(
        "what the targets must be, instead of the default gate. Default: the default gate",
    );
    if about.needs.is_empty() {
        // A block of YAML with nothing in it is null.
        table["type"] = json!(["object", "null"]);
    } else {
        let needs = about.needs.iter();
        table["anyOf"] = needs
            .map(|need| json!({ "required": [need.key] }))
            .collect();
    }
    let description = format!(
        "{}. Default gate: {}",
        about.explanation, about.default_gate
    );
    table["description"] = description.into();
    table
}

fn expectations(description: &str) -> Value {
    json!({
        "type": "array",
        "items": { "$ref": "#/$defs/expectation" },
        "minItems": 1,
        "description": description,
    })
}

fn expectation() -> Value {
    json!({
        "type": "object",
        "properties": {
            "target": {
                "type": "string",
                "minLength": 1,
                "description": "A target such as stability.score, or a path into a run such as \
                                tool_calls[0].name",
            },
            "matcher": { "$ref": "#/$defs/matcher" },
        },
        "required": ["target", "matcher"],
        "additionalProperties": false,
    })
}

/// A map with exactly one matcher.
fn matcher() -> Value {
    let entries = Matcher::entries().map(|(name, explanation)| (name, given(name), explanation));
    let mut schema = one_key(entries);
    schema["description"] = "Exactly one matcher".into();
    schema
}

/// A map with exactly one of these keys, which have these schemas and mean this.
pub fn one_key(keys: impl IntoIterator<Item = (&'static str, Value, &'static str)>) -> Value {
    let mut properties = Map::new();
    for (name, mut schema, explanation) in keys {
        schema["description"] = explanation.into();
        properties.extend(spellings(name).map(|name| (name, schema.clone())));
    }
    json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "minProperties": 1,
        "maxProperties": 1,
    })
}

/// What can stand beside the name of a matcher, as far as that is more than any value.
fn given(matcher: &str) -> Value {
    let inner = || json!({ "$ref": "#/$defs/matcher" });
    match matcher {
        "schema" => json!({ "type": ["object", "boolean"] }),
        "regex" | "starts_with" => json!({ "type": "string" }),
        "one_of" => json!({ "type": "array", "minItems": 1 }),
        "not" => inner(),
        "all_of" | "any_of" => json!({ "type": "array", "items": inner(), "minItems": 1 }),
        "length" => json!({ "anyOf": [
            { "type": "number", "minimum": 0 },
            { "type": "object", "minProperties": 1 },
        ] }),
        _ => json!({}),
    }
}
