//! The JSON Schema of a suite, for editors and other programs: `suite.v1`.
//!
//! It is made from the settings. It cannot say all that the reader checks (which names there are, what
//! goes with what), but takes everything that the reader takes.

use mcprove_fault::file as faults;
use mcprove_load::config::schema::sections;
use mcprove_settings::kind::table_schema;

use super::kinds::{reference, schema_of};
use super::servers::OWNERS;
use super::settings::{SECTIONS, SectionKeys};
use crate::prelude::*;

pub fn schema() -> Value {
    let mut definitions = gates::definitions();
    definitions.insert("faults".into(), faults::list_schema(&[]));
    definitions.insert("variable".into(), schema_of("variable"));
    definitions.extend(SECTIONS.iter().map(|it| (it.name.to_owned(), table(it))));
    let mut root = definitions.remove("suite").unwrap_or_default();
    extend(&mut root, schema_of("root"));
    extend(&mut root, json!({ "$defs": definitions }));
    allow_variables(&mut root);
    add_spellings(&mut root, "#");
    root
}

/// Adds these entries to an object.
fn extend(schema: &mut Value, entries: Value) {
    if let (Value::Object(schema), Value::Object(entries)) = (schema, entries) {
        schema.extend(entries);
    }
}

fn table(section: &SectionKeys) -> Value {
    let mut table = table_schema((section.settings)());
    extend(&mut table, json!({ "description": section.explanation }));
    extend(&mut table, schema_of("rules")[section.name].take());
    match section.name {
        "server" => {
            let apart = OWNERS.map(|(way, ..)| apart(way));
            extend(&mut table, json!({ "allOf": apart }));
        }
        "agent_test" => {
            if let Some(properties) = table.get_mut("properties") {
                let blocks = gates::block_properties("#/$defs/agent_test/properties");
                extend(properties, Value::Object(blocks));
            }
        }
        "load_test" => {
            let mut parts = sections();
            parts.remove("server");
            extend(&mut table["properties"], parts.into());
        }
        // Bad requests of which there are none would hide that nothing is checked.
        "negative_path" => {
            if let Some(checks) = table.pointer_mut("/properties/checks") {
                extend(checks, json!({ "minItems": 1 }));
            }
        }
        _ => {}
    }
    table
}

/// What does not go with a way to reach a server.
fn apart(way: &str) -> Value {
    let others: Vec<Value> = OWNERS
        .iter()
        .filter(|(owner, ..)| *owner != way)
        .flat_map(|(.., keys)| *keys)
        .copied()
        .chain((way == "mock").then_some("transport"))
        .map(|key| json!({ "required": [key] }))
        .collect();
    json!({ "if": { "required": [way] }, "then": { "not": { "anyOf": others } } })
}

/// Lets a variable stand wherever a value of a key may: it can be of any type.
fn allow_variables(schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    for (name, within) in object.iter_mut() {
        match (name.as_str(), within) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    allow_variables(property);
                    // The host is written out.
                    if name != "url" {
                        allow_variable(property);
                    }
                }
            }
            ("$defs", Value::Object(definitions)) => {
                definitions.values_mut().for_each(allow_variables);
            }
            ("items" | "additionalProperties", within) => {
                allow_variables(within);
                allow_variable(within);
            }
            ("anyOf" | "oneOf", Value::Array(choices)) => {
                choices.iter_mut().for_each(allow_variables);
            }
            _ => {}
        }
    }
}

/// Adds the spelling with `-` of every key; `place` is where the schema stands.
fn add_spellings(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(object) => {
            for (name, within) in object.iter_mut() {
                let place = format!("{place}/{name}");
                if let ("properties", Value::Object(properties)) = (name.as_str(), &mut *within) {
                    let names: Vec<String> = properties.keys().cloned().collect();
                    for name in names.iter().filter(|name| name.contains('_')) {
                        let other = json!({ "$ref": format!("{place}/{name}") });
                        properties.insert(name.replace('_', "-"), other);
                    }
                }
                add_spellings(within, &place);
            }
        }
        Value::Array(values) => {
            for (index, within) in values.iter_mut().enumerate() {
                add_spellings(within, &format!("{place}/{index}"));
            }
        }
        _ => {}
    }
}

fn allow_variable(schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    if takes_any_text(object) {
        return;
    }
    let mut within = std::mem::take(object);
    for name in ["description", "default"] {
        object.extend(within.remove_entry(name));
    }
    let choices = json!([Value::Object(within), reference("variable")]);
    object.insert("anyOf".to_owned(), choices);
}

/// Whether a schema takes the text of a variable by itself.
fn takes_any_text(schema: &Map<String, Value>) -> bool {
    let is_narrowed = ["pattern", "enum", "const", "$ref", "oneOf", "allOf"]
        .iter()
        .any(|name| schema.contains_key(*name));
    if is_narrowed {
        return false;
    }
    if let Some(Value::Array(choices)) = schema.get("anyOf") {
        let mut choices = choices.iter().filter_map(Value::as_object);
        return choices.any(takes_any_text);
    }
    match schema.get("type") {
        None => true,
        Some(Value::Array(types)) => types.contains(&json!("string")),
        Some(name) => name == "string",
    }
}
