//! The JSON Schema of a gates file, for editors and other programs: `gates.v1`.
//!
//! What is always the same is in `schema.json`; the rest is made from the table of keys. It cannot say all that
//! the reader checks (which targets there are, what is a path), but takes everything that the reader takes.

use std::sync::LazyLock;

use mcprove_settings::table::{map_schema, spellings};
use schemars::Schema;

use super::EXPECT;
use crate::agent::METRICS;
use crate::agent::call_limits::limit_schema;
use crate::prelude::*;

/// The parts of `schema.json`.
static PARTS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("schema.json")).unwrap_or_default());

fn part(name: &str) -> Value {
    PARTS[name].clone()
}

/// The schema.
pub fn schema() -> Schema {
    let mut schema = part("gates");
    schema["properties"] = block_properties("#/properties").into();
    schema["$defs"] = definitions().into();
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
        ("shape", part("shape")),
        ("limit", limit_schema()),
        ("expectation", part("expectation")),
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
    let mut expectations = part("expectations");
    expectations["description"] = description.into();
    expectations
}

/// A map with exactly one matcher.
fn matcher() -> Value {
    let mut schema = part("matcher");
    for (name, explanation) in Matcher::entries() {
        let mut given = PARTS["beside a matcher"][name].clone();
        given["description"] = explanation.into();
        for name in spellings(name) {
            schema["properties"][name] = given.clone();
        }
    }
    schema
}
