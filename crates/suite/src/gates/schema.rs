//! The JSON Schema of a gates file, for editors and other programs: `gates.v1`.
//!
//! It is made from the table of keys. It cannot say all that the reader checks (which targets there
//! are, what is a path), but takes everything that the reader takes.

use mcprove_score::agent::METRICS;
use mcprove_score::gate::Matcher;
use schemars::Schema;
use serde_json::{Map, Value, json};

use super::keys::{self, BLOCKS, Block, COUNT_MAX, Contents, Form, Key, LIMIT, TIME_MS_MAX};

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
            json!("What `mcprove score --gates` holds agent traces to, in YAML."),
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
    for block in BLOCKS {
        let reference = json!({ "$ref": format!("{place}/{}", block.name) });
        for name in spellings(block.name) {
            let is_other = name != block.name;
            let schema = if is_other {
                reference.clone()
            } else {
                block_schema(block)
            };
            blocks.insert(name, schema);
        }
    }
    blocks
}

/// What the blocks refer to, below `$defs`.
pub fn definitions() -> Map<String, Value> {
    [
        ("expectation", expectation()),
        ("limit", limit()),
        ("matcher", matcher()),
        ("shape", shape()),
    ]
    .map(|(name, schema)| (name.to_owned(), schema))
    .into_iter()
    .collect()
}

/// A name with `_`, and with `-` where that is another.
pub fn spellings(name: &str) -> impl Iterator<Item = String> + use<> {
    let dashed = name.replace('_', "-");
    let other = (dashed != name).then_some(dashed);
    std::iter::once(name.to_owned()).chain(other)
}

fn block_schema(block: &Block) -> Value {
    if let Contents::Expectations = block.contents {
        let mut schema = form(Form::Expectations);
        let description = "What each run, or a target of any metric, must be";
        insert(&mut schema, "description", json!(description));
        return schema;
    }
    let explanation = METRICS
        .iter()
        .find(|metric| metric.name == block.name)
        .map_or("", |metric| metric.explanation);
    let mut table = table(block.keys, &[]);
    if block.needs.is_empty() {
        // A block of YAML with nothing in it is null.
        insert(&mut table, "type", json!(["object", "null"]));
    } else {
        let needs = block.needs.iter();
        let one_of_them: Vec<Value> = needs
            .map(|need| json!({ "required": [need.key] }))
            .collect();
        insert(&mut table, "anyOf", json!(one_of_them));
    }
    let description = format!("{explanation}. Default gate: {}", block.default_gate);
    insert(&mut table, "description", json!(description));
    table
}

fn insert(schema: &mut Value, name: &str, value: Value) {
    if let Value::Object(object) = schema {
        object.insert(name.to_owned(), value);
    }
}

fn table(keys: &[Key], required: &[&str]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .flat_map(|key| spellings(key.name).map(|name| (name, property(key))))
        .collect();
    let mut table = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        insert(&mut table, "required", json!(required));
    }
    table
}

fn property(key: &Key) -> Value {
    let mut schema = form(key.form);
    let mut description = key.explanation.to_owned();
    let default = key.default.describe();
    if !default.is_empty() {
        description = format!("{description}. Default: {default}");
    }
    insert(&mut schema, "description", json!(description));
    if let Some(default) = key.default.value() {
        insert(&mut schema, "default", default);
    }
    schema
}

fn form(form: Form) -> Value {
    match form {
        Form::Text => text(),
        Form::Boolean => json!({ "type": "boolean" }),
        Form::Milliseconds(least) => {
            json!({ "type": "integer", "minimum": least, "maximum": TIME_MS_MAX })
        }
        Form::Count(least) => json!({ "type": "integer", "minimum": least, "maximum": COUNT_MAX }),
        Form::Share => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        Form::Names => json!({ "type": "array", "items": text() }),
        Form::Mode => {
            let names = keys::modes();
            let spellings: Vec<String> = names.iter().flat_map(|name| spellings(name)).collect();
            json!({ "enum": spellings })
        }
        Form::Shape => json!({ "$ref": "#/$defs/shape" }),
        Form::Predicates => json!({
            "type": "object",
            "additionalProperties": { "$ref": "#/$defs/matcher" },
        }),
        Form::Limit => json!({ "$ref": "#/$defs/limit" }),
        Form::Limits => json!({
            "type": "object",
            "additionalProperties": { "$ref": "#/$defs/limit" },
        }),
        Form::NamesOrMaps(keys) => {
            let required: Vec<&str> = keys.iter().take(1).map(|key| key.name).collect();
            let items = json!({ "anyOf": [text(), table(keys, &required)] });
            json!({ "type": "array", "items": items })
        }
        Form::Maps(keys) => {
            let required: Vec<&str> = keys.iter().map(|key| key.name).collect();
            json!({ "type": "array", "items": table(keys, &required) })
        }
        Form::Expectations => {
            json!({
                "type": "array",
                "items": { "$ref": "#/$defs/expectation" },
                "minItems": 1,
            })
        }
    }
}

fn text() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

fn limit() -> Value {
    let mut map = table(LIMIT, &[]);
    insert(&mut map, "minProperties", json!(1));
    json!({
        "description": "The most calls, or the fewest and the most",
        "anyOf": [{ "type": "integer", "minimum": 0, "maximum": COUNT_MAX }, map],
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

/// What arguments must be.
fn shape() -> Value {
    let mut properties = Map::new();
    for (name, schema, explanation) in [
        ("exact", json!({}), "the arguments are equal to this"),
        ("subset", json!({}), "the arguments have this in them"),
        (
            "schema",
            json!({ "type": ["object", "boolean"] }),
            "the arguments are valid by this JSON Schema",
        ),
        (
            "one_of",
            json!({ "type": "array" }),
            "the arguments are of one of these shapes, or equal to one of these values",
        ),
    ] {
        let mut schema = schema;
        insert(&mut schema, "description", json!(explanation));
        for name in spellings(name) {
            properties.insert(name, schema.clone());
        }
    }
    json!({
        "description": "What the arguments of a call must be",
        "anyOf": [
            { "enum": ["any", "ignore"] },
            {
                "type": "object",
                "properties": properties,
                "additionalProperties": false,
                "minProperties": 1,
                "maxProperties": 1,
            },
        ],
    })
}
