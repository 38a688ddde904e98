//! The JSON Schema of a faults file, for editors and other programs: `faults.v1`.
//!
//! It is made from the table of kinds, and takes what the reader takes.

use mcprove_settings::table::spellings;

use super::FAULTS_MAX;
use crate::prelude::*;

pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Faults",
        "description": "Faults in a file, in YAML or TOML: a map with `faults`, or the list.",
        "anyOf": [
            {
                "type": "object",
                "properties": { "faults": { "anyOf": [{ "$ref": "#/$defs/list" }, { "type": "null" }] } },
                "required": ["faults"],
                "additionalProperties": false,
            },
            { "$ref": "#/$defs/list" },
        ],
        "$defs": { "list": list_schema(Map::new()) },
    })
}

/// A list of faults, with the keys that each has besides its own.
pub fn list_schema(extra: Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut add = |name: &str, schema: Value| {
        for name in spellings(name) {
            properties.insert(name, schema.clone());
        }
    };
    let text =
        |description: &str| json!({ "type": "string", "minLength": 1, "description": description });
    let target = json!({
        "type": ["object", "null"],
        "properties": { "tool": text("Only calls of this tool"), "server": text("Only calls to this server") },
        "additionalProperties": false,
        "description": "Which calls it is aimed at; all without one",
    });
    add("kind", kind_schema());
    add("name", text("Its name in reports. Default: its kind"));
    add("target", target);
    add("tool", text("Another place for `tool` of `target`"));
    add("server", text("Another place for `server` of `target`"));
    add("calls", ordinals());
    add(
        "rate",
        json!({ "type": "number", "minimum": 0, "maximum": 1, "description": "The share of these calls that it strikes" }),
    );
    add(
        "seed",
        json!({
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "pattern": "^[0-9]+$" }],
            "description": "The seed of its choices",
        }),
    );
    // A setting is refused where the kind does not have it.
    let mut refused = BTreeMap::new();
    let own = kinds().flat_map(settings_of);
    for setting in own.filter(|setting| setting.name != "rate") {
        add(setting.name, setting_schema(setting));
        let has_it = |kind: &FaultKind| setting_of(*kind, setting.name).is_some();
        let owners: Vec<String> = kinds()
            .filter(has_it)
            .flat_map(|kind| spellings(kind.name()))
            .collect();
        let names: Map<String, Value> = spellings(setting.name)
            .map(|name| (name, Value::Bool(false)))
            .collect();
        let rule = json!({
            "if": { "properties": { "kind": { "not": { "enum": owners } } } },
            "then": { "properties": names },
        });
        refused.insert(setting.name, rule);
    }
    for (name, schema) in extra {
        add(&name, schema);
    }
    let line = text("A fault in one line: slow:500,tool=search");
    let map = json!({
        "type": "object",
        "properties": properties,
        "required": ["kind"],
        "additionalProperties": false,
        "allOf": refused.into_values().collect::<Vec<Value>>(),
    });
    json!({ "type": "array", "items": { "anyOf": [line, map] }, "maxItems": FAULTS_MAX })
}

fn kind_schema() -> Value {
    let names: Vec<String> = kinds().flat_map(|kind| spellings(kind.name())).collect();
    let explained: Vec<String> = kinds()
        .map(|kind| format!("{}: {}", kind.name(), kind.about()))
        .collect();
    json!({ "enum": names, "description": explained.join("; ") })
}

fn ordinals() -> Value {
    json!({
        "anyOf": [
            { "type": "string", "minLength": 1 },
            { "type": "integer", "minimum": 1 },
            { "type": "array", "items": { "type": "integer", "minimum": 1 }, "minItems": 1 },
        ],
        "description": "Which of these calls it strikes, by order of arrival from 1: \"1-3,7\" or \"5-\"",
    })
}

fn setting_schema(setting: &Setting) -> Value {
    let mut schema = setting.kind.schema();
    schema["description"] = setting.about.into();
    schema["default"] = setting.default_value().into();
    schema
}
