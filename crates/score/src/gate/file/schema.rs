//! The JSON Schema of a gates file, for editors and other programs: `gates.v1`.
//!
//! It is made from the table of keys. It cannot say all that the reader checks (which targets there
//! are, what is a path), but takes everything that the reader takes.

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::EXPECT;
use crate::agent::{AnyMetric, METRICS};
use crate::gate::Matcher;
use crate::gate::key::{KeyInfo, insert, map_schema, spellings};

/// The schema.
pub fn schema() -> Schema {
    let blocks = block_properties("#/properties");
    let mut root = Map::new();
    for (name, value) in [
        (
            "$schema",
            json!("https://json-schema.org/draft/2020-12/schema"),
        ),
        ("title", json!("Gates")),
        (
            "description",
            json!("What `mcprove score` holds agent traces to, in YAML."),
        ),
        ("type", json!("object")),
        ("properties", Value::Object(blocks)),
        ("minProperties", json!(1)),
        ("additionalProperties", json!(false)),
        ("$defs", Value::Object(definitions())),
    ] {
        root.insert(name.into(), value);
    }
    Schema::from(root)
}

/// The blocks by name; `place` is where they stand in the schema.
pub fn block_properties(place: &str) -> Map<String, Value> {
    let mut blocks = Map::new();
    let metrics = METRICS.iter();
    let schemas = metrics.map(|metric| (metric.about().name, block_schema(*metric)));
    for (block, schema) in schemas.chain([(EXPECT, any_expectations())]) {
        let reference = json!({ "$ref": format!("{place}/{block}") });
        for name in spellings(block) {
            let is_other = name != block;
            let schema = if is_other { &reference } else { &schema };
            blocks.insert(name, schema.clone());
        }
    }
    blocks
}

/// What the blocks refer to, below `$defs`.
pub fn definitions() -> Map<String, Value> {
    let keys = METRICS.iter().flat_map(|metric| metric.keys());
    keys.filter_map(|key| key.definition)
        .chain([("expectation", expectation()), ("matcher", matcher())])
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}

fn block_schema(metric: &dyn AnyMetric) -> Value {
    let about = metric.about();
    let mut keys = metric.keys();
    keys.push(expect_key());
    let mut table = map_schema(&keys, &[]);
    if about.needs.is_empty() {
        // A block of YAML with nothing in it is null.
        insert(&mut table, "type", json!(["object", "null"]));
    } else {
        let needs = about.needs.iter();
        let one_of_them: Vec<Value> = needs
            .map(|need| json!({ "required": [need.key] }))
            .collect();
        insert(&mut table, "anyOf", json!(one_of_them));
    }
    let description = format!(
        "{}. Default gate: {}",
        about.explanation, about.default_gate
    );
    insert(&mut table, "description", json!(description));
    table
}

/// The key `expect`, which every block has.
fn expect_key() -> KeyInfo {
    let (default, explanation) = (
        "the default gate",
        "what the targets must be, instead of the default gate",
    );
    let mut schema = expectations();
    let description = format!("{explanation}. Default: {default}");
    insert(&mut schema, "description", json!(description));
    KeyInfo {
        name: EXPECT,
        takes: "list of `{target, matcher}`".to_owned(),
        default: default.to_owned(),
        explanation,
        schema,
        definition: None,
    }
}

/// The block `expect`.
fn any_expectations() -> Value {
    let mut schema = expectations();
    let description = "What each run, or a target of any metric, must be";
    insert(&mut schema, "description", json!(description));
    schema
}

fn expectations() -> Value {
    json!({
        "type": "array",
        "items": { "$ref": "#/$defs/expectation" },
        "minItems": 1,
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
    let mut properties = Map::new();
    for (name, explanation) in Matcher::entries() {
        let mut schema = given(name);
        insert(&mut schema, "description", json!(explanation));
        for name in spellings(name) {
            properties.insert(name, schema.clone());
        }
    }
    json!({
        "description": "Exactly one matcher",
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
