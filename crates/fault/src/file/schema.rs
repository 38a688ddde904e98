//! The JSON Schema of a faults file, for editors and other programs: `faults.v1`.
//!
//! It is made from the table of kinds. It cannot say which kind has which setting, but takes everything
//! that the reader takes.

use mcprove_settings::kind::Kind;
use mcprove_settings::table::spellings;
use schemars::{Schema, json_schema};

use super::FAULTS_MAX;
use crate::prelude::*;

/// The schema.
pub fn schema() -> Schema {
    json_schema!({
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
    for setting in kinds().flat_map(settings_of) {
        if setting.name != "rate" {
            add(setting.name, setting_schema(setting));
        }
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
    let mut schema = json!({
        "type": "integer",
        "description": setting.about,
        "default": setting.default_value(),
    });
    if let Kind::Whole(least, _) = setting.kind {
        schema["minimum"] = least.into();
    }
    schema
}
