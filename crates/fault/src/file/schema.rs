//! The JSON Schema of a faults file, for editors and other programs: `faults.v1`.
//!
//! It is made from the table of kinds, and takes what the reader takes.

use mcprove_settings::kind::table_schema;
use mcprove_settings::table::{map_schema, spellings};

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
        "$defs": { "list": list_schema(&[]) },
    })
}

/// A list of faults, with the keys that each has besides its own.
pub fn list_schema(extra: &'static [Setting]) -> Value {
    // A setting is refused where the kind does not have it.
    let mut refused = BTreeMap::new();
    let is_common = |own: &&Setting| FaultSpec::declared().iter().any(|it| it.name == own.name);
    for setting in kinds().flat_map(settings_of).filter(|it| !is_common(it)) {
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
    let keys = kinds().flat_map(FaultSpec::keys).chain(extra);
    let all: Vec<Setting> = keys.copied().collect();
    let mut map = map_schema(&all);
    map["properties"]["kind"] = kind_schema();
    let mut target = table_schema(FaultTarget::declared());
    target["description"] = "which calls it is aimed at; all without one".into();
    map["properties"]["target"] = target;
    map["required"] = json!(["kind"]);
    map["allOf"] = refused.into_values().collect();
    let mut line = Kind::Text.schema();
    line["description"] = "A fault in one line: slow:500,tool=search".into();
    json!({ "type": "array", "items": { "anyOf": [line, map] }, "maxItems": FAULTS_MAX })
}

fn kind_schema() -> Value {
    let names: Vec<String> = kinds().flat_map(|kind| spellings(kind.name())).collect();
    let explained: Vec<String> = kinds()
        .map(|kind| format!("{}: {}", kind.name(), kind.about()))
        .collect();
    json!({ "enum": names, "description": explained.join("; ") })
}
