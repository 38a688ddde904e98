//! The JSON Schema of a load configuration, for editors and other programs: `config.v1`.
//!
//! It is made from the settings. It cannot say all that the reader checks (what fits together), but takes
//! everything that the reader takes.

use mcprove_settings::kind::{self, properties, table_schema};
use mcprove_settings::setting::Elsewhere;

use super::ServerSettings;
use super::sections::{SECTIONS, TOOL_CALL, TYPE, defaults, owners, scenario_settings};
use super::settings::faults_schema;
use crate::drive::scenario::{ENTRIES, Entry};
use crate::prelude::*;

/// The schema.
pub fn schema() -> Value {
    let mut properties = sections();
    if let Some(server) = properties.get_mut("server") {
        let choice = json!([{ "required": ["command"] }, { "required": ["url"] }]);
        insert(server, "anyOf", choice);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "LoadConfig",
        "description": "The configuration of a load run of mcprove, in TOML or YAML.",
        "type": "object",
        "properties": properties,
        "required": ["server", "scenario"],
        "additionalProperties": false,
    })
}

/// What stands at the top of a file, by name.
pub fn sections() -> Map<String, Value> {
    let mut all: Map<String, Value> = SECTIONS
        .iter()
        .map(|section| {
            let mut table = table_schema(&[]);
            if section.name == "scenario" {
                table = scenario();
            } else {
                let settings = properties((section.settings)());
                insert(&mut table, "properties", settings.into());
            }
            insert(&mut table, "description", json!(section.about));
            (section.name.to_owned(), table)
        })
        .collect();
    all.insert("protocol".into(), ServerSettings::PROTOCOL.schema());
    all.insert("faults".into(), faults_schema());
    all
}

/// Every setting once, and for each scenario which of them it takes.
fn scenario() -> Value {
    let settings = scenario_settings();
    let mut all = properties(settings.iter().copied());
    for setting in &settings {
        let other = of_another_kind(setting);
        let owners = owners(setting.name);
        for name in setting.names() {
            let Some(schema) = all.get_mut(name) else {
                continue;
            };
            if let Some(other) = other {
                *schema = json!({ "anyOf": [setting.kind.schema(), other.kind.schema()] });
            }
            let mut description = setting.about.to_owned();
            if !owners.is_empty() {
                description = format!("{description}. For {}", owners.join(", "));
            }
            let words = defaults(setting.name);
            if !words.is_empty() {
                description = format!("{description}. Default: {words}");
            }
            insert(schema, "description", json!(description));
        }
    }
    let names: Vec<&str> = ENTRIES.iter().flat_map(Entry::names).collect();
    let mut kind = kind::one_of(&names);
    insert(&mut kind, "description", json!(TYPE.about));
    all.insert(TYPE.name.to_owned(), kind);
    let each: Vec<Value> = ENTRIES.iter().map(names_of_entry).collect();
    json!({
        "type": "object",
        "properties": all,
        "required": [TYPE.name],
        "additionalProperties": false,
        "allOf": each,
    })
}

/// The setting of the same name that another scenario declares with another kind.
fn of_another_kind(setting: &Setting) -> Option<&'static Setting> {
    let own = ENTRIES.iter().flat_map(|entry| (entry.settings)());
    own.chain(scenario_settings())
        .find(|it| it.name == setting.name && it.kind.describe() != setting.kind.describe())
}

/// The settings that a scenario takes: its own, and those that may stay in a file when its type changes.
fn names_of_entry(entry: &Entry) -> Value {
    let kinds: Vec<&str> = entry.names().collect();
    let own: Vec<_> = entry.all_settings().collect();
    let ignored = scenario_settings().into_iter().filter(|setting| {
        let is_own = own.iter().any(|it| it.has_name(setting.name));
        !is_own && setting.elsewhere == Elsewhere::Ignored && !owners(setting.name).is_empty()
    });
    let all = own
        .iter()
        .copied()
        .chain(ignored)
        .chain([&TYPE, &TOOL_CALL]);
    let names: Vec<&str> = all.flat_map(Setting::names).collect();
    let mut then = json!({ "propertyNames": kind::one_of(&names) });
    let varying = own.iter().filter(|it| of_another_kind(it).is_some());
    let varying: Map<String, Value> = varying
        .map(|it| (it.name.to_owned(), it.kind.schema()))
        .collect();
    if !varying.is_empty() {
        insert(&mut then, "properties", varying.into());
    }
    json!({ "if": { "properties": { TYPE.name: kind::one_of(&kinds) } }, "then": then })
}

fn insert(schema: &mut Value, name: &str, value: Value) {
    if let Value::Object(object) = schema {
        object.insert(name.to_owned(), value);
    }
}
