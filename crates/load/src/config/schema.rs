//! The JSON Schema of a load configuration, for editors and other programs: `config.v1`.
//!
//! It is made from the table of keys. It cannot say all that the reader checks (which scenario has
//! which knob, what fits together), but takes everything that the reader takes.

use mcprove_settings::quantity::{parse_duration, parse_size};
use schemars::Schema;
use serde_json::{Map, Value, json};

use super::faults;
use super::keys::{CALLS_MAX, COUNT_MAX, Form, Key, PROTOCOLS, RATE_MAX, SECTIONS};

pub const TIME: &str = "^\\s*[0-9]*\\.?[0-9]+\\s*(ms|s|sec|m|min|h)\\s*$";
pub const TIME_OR_ZERO: &str = "^\\s*([0-9]*\\.?[0-9]+\\s*(ms|s|sec|m|min|h)|0+(\\.0+)?)\\s*$";

/// The schema.
pub fn schema() -> Schema {
    let mut properties = sections();
    if let Some(server) = properties.get_mut("server") {
        let choice = json!([{ "required": ["command"] }, { "required": ["url"] }]);
        insert(server, "anyOf", choice);
    }
    let mut root = Map::new();
    for (name, value) in [
        (
            "$schema",
            json!("https://json-schema.org/draft/2020-12/schema"),
        ),
        ("title", json!("LoadConfig")),
        (
            "description",
            json!("The configuration of a load run of mcprove, in TOML or YAML."),
        ),
        ("type", json!("object")),
        ("properties", Value::Object(properties)),
        ("required", json!(["server", "scenario"])),
        ("additionalProperties", json!(false)),
    ] {
        root.insert(name.into(), value);
    }
    Schema::from(root)
}

/// What stands at the top of a file, by name.
pub fn sections() -> Map<String, Value> {
    let mut properties: Map<String, Value> = SECTIONS
        .iter()
        .map(|section| {
            let mut table = table(section.keys, required(section.name));
            insert(&mut table, "description", json!(section.explanation));
            (section.name.to_owned(), table)
        })
        .collect();
    let mut protocol = one_of(PROTOCOLS);
    insert(
        &mut protocol,
        "description",
        json!("Another place for `protocol` of [session]"),
    );
    properties.insert("protocol".into(), protocol);
    let time = json!({ "type": "string", "pattern": TIME });
    properties.insert("faults".into(), faults::schema(&time, &time_or_zero()));
    properties
}

fn required(section: &str) -> &'static [&'static str] {
    match section {
        "scenario" => &["type"],
        _ => &[],
    }
}

fn insert(schema: &mut Value, name: &str, value: Value) {
    if let Value::Object(object) = schema {
        object.insert(name.to_owned(), value);
    }
}

fn table(keys: &[Key], required: &[&str]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| (key.name.to_owned(), property(key)))
        .collect();
    let mut table = json!({
        // A section of YAML with nothing in it is null.
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        insert(&mut table, "type", json!("object"));
        insert(&mut table, "required", json!(required));
    }
    table
}

fn property(key: &Key) -> Value {
    let mut schema = form(key.form);
    let mut description = key.explanation.to_owned();
    if !key.scenarios.is_empty() {
        description = format!("{description}. For {}", key.scenarios.join(", "));
    }
    if !key.default.is_empty() {
        description = format!("{description}. Default: {}", key.default);
    }
    insert(&mut schema, "description", json!(description));
    if let Some(default) = default(key) {
        insert(&mut schema, "default", default);
    }
    schema
}

/// The default as a value, where it is one.
fn default(key: &Key) -> Option<Value> {
    let text = key.default;
    match key.form {
        Form::Time | Form::TimeOrZero | Form::Warmup => {
            parse_duration(text).is_ok().then(|| json!(text))
        }
        Form::Boolean => text.parse::<bool>().ok().map(Value::from),
        Form::Count | Form::CountOrZero | Form::Calls => text.parse::<u64>().ok().map(Value::from),
        Form::Rate | Form::NotNegative | Form::Factor | Form::Share | Form::OpenShare => {
            text.parse::<f64>().ok().map(Value::from)
        }
        Form::Size => parse_size(text).is_ok().then(|| json!(text)),
        Form::OneOf(names) => names.contains(&text).then(|| json!(text)),
        Form::Text if text.starts_with('.') => Some(json!(text)),
        _ => None,
    }
}

fn one_of(names: &[&str]) -> Value {
    let mut spellings: Vec<String> = Vec::new();
    for name in names {
        spellings.push((*name).to_owned());
        if name.contains('_') {
            spellings.push(name.replace('_', "-"));
        }
    }
    json!({ "enum": spellings })
}

fn form(form: Form) -> Value {
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    match form {
        Form::Text => json!({ "type": "string", "minLength": 1 }),
        Form::Command => json!({ "anyOf": [
            { "type": "string", "minLength": 1 },
            { "type": "array", "items": { "type": "string" }, "minItems": 1 },
        ] }),
        Form::Texts => texts(),
        Form::TextTable => json!({
            "type": ["object", "null"],
            "additionalProperties": { "type": ["string", "integer", "boolean"] },
        }),
        Form::Time => json!({ "type": "string", "pattern": TIME }),
        Form::TimeOrZero => time_or_zero(),
        Form::Warmup => json!({ "anyOf": [time_or_zero(), { "type": "boolean" }] }),
        Form::Count => json!({ "type": "integer", "minimum": 1, "maximum": COUNT_MAX }),
        Form::Calls => json!({ "type": "integer", "minimum": 1, "maximum": CALLS_MAX }),
        Form::CountOrZero => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
        Form::Seed => json!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "pattern": "^[0-9]+$" },
        ] }),
        Form::Rate => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": RATE_MAX }),
        Form::NotNegative => json!({ "type": "number", "minimum": 0 }),
        Form::Factor => json!({ "type": "number", "minimum": 1, "maximum": COUNT_MAX }),
        Form::Share => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        Form::OpenShare => {
            json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 })
        }
        Form::Boolean => json!({ "type": "boolean" }),
        Form::Size => json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "pattern": "^\\s*[0-9]*\\.?[0-9]+\\s*([kmgKMG]?[iI]?[bB]?)\\s*$" },
        ] }),
        Form::OneOf(names) => one_of(names),
        Form::SomeOf(names) => json!({ "type": "array", "items": one_of(names) }),
        Form::Arguments => json!({ "type": ["object", "string"] }),
        Form::Tables(keys) => json!({ "type": "array", "items": table(keys, &["name"]) }),
        Form::Steps(keys) => {
            let mut step = table(keys, &[]);
            insert(&mut step, "type", json!("object"));
            let choice = json!([{ "required": ["tool"] }, { "required": ["list"] }]);
            insert(&mut step, "oneOf", choice);
            json!({ "type": "array", "items": step })
        }
        Form::TablesByName(keys) => json!({
            "type": ["object", "null"],
            "additionalProperties": table(keys, &[]),
        }),
    }
}

fn time_or_zero() -> Value {
    json!({ "anyOf": [{ "type": "string", "pattern": TIME_OR_ZERO }, { "const": 0 }] })
}
