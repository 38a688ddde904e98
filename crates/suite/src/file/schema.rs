//! The JSON Schema of a suite, for editors and other programs: `suite.v1`.
//!
//! It is made from the table of keys. It cannot say all that the reader checks (which names there are, what
//! goes with what), but takes everything that the reader takes.

use mcprove_fault::file as faults;
use mcprove_load::config::schema::sections;
use mcprove_settings::kind::{TIME_OR_ZERO_PATTERN as TIME_OR_ZERO, TIME_PATTERN as TIME};
use schemars::Schema;
use serde_json::{Map, Value, json};

use super::keys::{
    self, AGENT, BUDGET, Form, Key, LOAD, NEGATIVE_PATH, PROVIDER, SERVER, SUITE, Section, TOOL,
};
use super::limits::TIME_MS_MAX;
use crate::gates;

/// An address, whose host is written out.
const ADDRESS: &str = "^([Hh][Tt][Tt][Pp]|[Ww][Ss])[Ss]?://([^/?#@$\\s]|\\$(?!\\{))+([/?#]|$)";
/// The name of a variable, about.
const VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_]*$";
/// A word for yes or no, which is no reason.
const NO_REASON: &str = "^\\s*([Nn]|[Nn][Oo]|[Oo][Ff][Ff]|[Ff][Aa][Ll][Ss][Ee]|[Yy]|[Yy][Ee][Ss]|[Oo][Nn]|[Tt][Rr][Uu][Ee])?\\s*$";
/// What a target of a tool test begins with, or a variable.
const TARGET: &str =
    "^(result|error)([.\\[]|$)|^(is[_-]error|duration[_-]ms)$|^negative[_-]path[.\\[]|\\$\\{";

/// The schema.
pub fn schema() -> Schema {
    let mut definitions = gates::definitions();
    definitions.insert("faults".into(), faults::list_schema(Map::new()));
    definitions.insert("variable".into(), variable());
    for (name, schema) in sections() {
        definitions.insert(format!("load_{name}"), schema);
    }
    for section in [
        &SERVER,
        &TOOL,
        &NEGATIVE_PATH,
        &AGENT,
        &PROVIDER,
        &BUDGET,
        &LOAD,
    ] {
        definitions.insert(section.name.to_owned(), table(section));
    }
    if let Some(Value::Object(agent)) = definitions.get_mut(AGENT.name)
        && let Some(Value::Object(properties)) = agent.get_mut("properties")
    {
        let place = format!("#/$defs/{}/properties", AGENT.name);
        properties.extend(gates::block_properties(&place));
    }
    definitions.insert(keys::DEFAULTS.name.to_owned(), table(&keys::DEFAULTS));
    let mut root = Map::new();
    for (name, value) in [
        (
            "$schema",
            json!("https://json-schema.org/draft/2020-12/schema"),
        ),
        ("title", json!("Suite")),
        (
            "description",
            json!("Tests of MCP servers and of agents for `mcprove run`, in YAML."),
        ),
        ("type", json!("object")),
        ("properties", Value::Object(properties(&SUITE))),
        (
            "anyOf",
            json!([{ "required": ["tools"] }, { "required": ["agents"] }, { "required": ["load"] }]),
        ),
        ("additionalProperties", json!(false)),
        ("$defs", Value::Object(definitions)),
    ] {
        root.insert(name.into(), value);
    }
    let mut root = Value::Object(root);
    allow_variables(&mut root);
    add_spellings(&mut root, "#");
    match root {
        Value::Object(root) => Schema::from(root),
        _ => Schema::default(),
    }
}

/// A text that is nothing but a variable, which takes its value with its type.
fn variable() -> Value {
    json!({
        "description": "A variable, whose value stands here",
        "type": "string",
        "pattern": "^\\$\\{[^}]+\\}$",
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn insert(schema: &mut Value, name: &str, value: Value) {
    if let Value::Object(object) = schema {
        object.insert(name.to_owned(), value);
    }
}

/// What must be there, of these keys.
fn required(section: &Section) -> &'static [&'static str] {
    match section.name {
        "tool_test" => &["name", "tool"],
        "load_test" => &["name", "scenario"],
        "agent_test" => &["name"],
        _ => &[],
    }
}

fn table(section: &Section) -> Value {
    let mut table = json!({
        "description": section.explanation,
        // A table of YAML with nothing in it is null.
        "type": ["object", "null"],
        "properties": properties(section),
        "additionalProperties": false,
    });
    if !required(section).is_empty() {
        insert(&mut table, "type", json!("object"));
        insert(&mut table, "required", json!(required(section)));
    }
    match section.name {
        "server" => {
            let ways = ["command", "url", "mock"].map(|way| json!({ "required": [way] }));
            insert(&mut table, "type", json!("object"));
            insert(&mut table, "oneOf", json!(ways));
            insert(&mut table, "allOf", json!(apart()));
        }
        "agent_test" => {
            let ways = ["prompt", "turns"].map(|way| json!({ "required": [way] }));
            insert(&mut table, "oneOf", json!(ways));
        }
        _ => {}
    }
    table
}

/// What does not go with a way to reach a server.
fn apart() -> Vec<Value> {
    let ways: [(&str, &[&str]); 3] = [
        ("command", &["headers", "fault", "faults"]),
        (
            "url",
            &["args", "env", "cwd", "working_dir", "fault", "faults"],
        ),
        (
            "mock",
            &["args", "env", "cwd", "working_dir", "headers", "transport"],
        ),
    ];
    ways.into_iter()
        .map(|(way, others)| {
            let others = others.iter().map(|other| json!({ "required": [other] }));
            let others: Vec<Value> = others.collect();
            json!({ "if": { "required": [way] }, "then": { "not": { "anyOf": others } } })
        })
        .collect()
}

/// The keys of a table.
fn properties(section: &Section) -> Map<String, Value> {
    let keys = section.keys.iter();
    keys.map(|key| (key.name.to_owned(), property(key)))
        .collect()
}

fn property(key: &Key) -> Value {
    let mut schema = form(key.form);
    let mut description = key.explanation.to_owned();
    if !key.default.is_empty() {
        description = format!("{description}. Default: {}", key.default);
    }
    insert(&mut schema, "description", json!(description));
    match key.name {
        "url" => insert(&mut schema, "pattern", json!(ADDRESS)),
        "variables" => insert(&mut schema, "propertyNames", json!({ "pattern": VARIABLE })),
        _ => {}
    }
    let is_plain = matches!(
        key.form,
        Form::Boolean | Form::Count(..) | Form::Milliseconds | Form::Time | Form::TimeOrZero
    );
    if is_plain {
        let default = match key.form {
            Form::Time | Form::TimeOrZero => Some(json!(key.default)),
            _ => serde_json::from_str(key.default).ok(),
        };
        if let Some(default) = default.filter(|_| !key.default.is_empty()) {
            insert(&mut schema, "default", default);
        }
    }
    schema
}

fn form(form: Form) -> Value {
    let text = || json!({ "type": "string", "minLength": 1 });
    let names = || json!({ "type": "array", "items": text() });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    match form {
        Form::Text => text(),
        Form::Texts => texts(),
        Form::Prompts => json!({ "type": "array", "items": text(), "minItems": 1 }),
        Form::TextTable => json!({
            "type": ["object", "null"],
            "additionalProperties": { "type": ["string", "integer", "boolean"] },
        }),
        Form::Command => json!({ "anyOf": [
            text(),
            { "type": "array", "items": { "type": "string" }, "minItems": 1 },
        ] }),
        Form::Boolean => json!({ "type": "boolean" }),
        Form::Reason => json!({ "anyOf": [
            { "type": "string", "minLength": 1, "not": { "pattern": NO_REASON } },
            { "const": false },
        ] }),
        Form::Count(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Form::Range(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
        Form::Milliseconds => json!({ "type": "integer", "minimum": 1, "maximum": TIME_MS_MAX }),
        Form::Time => json!({ "type": "string", "pattern": TIME }),
        Form::TimeOrZero => {
            json!({ "anyOf": [{ "type": "string", "pattern": TIME_OR_ZERO }, { "const": 0 }] })
        }
        Form::Size => json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "minLength": 1 },
        ] }),
        Form::OneOf(names) => one_of(names),
        Form::Names => json!({ "anyOf": [names(), text(), { "type": "null" }] }),
        Form::NameOrNames => {
            let names = json!({ "type": "array", "items": text(), "uniqueItems": true });
            json!({ "anyOf": [text(), names, { "type": "null" }] })
        }
        Form::Map => json!({ "type": ["object", "null"] }),
        Form::Faults => json!({ "anyOf": [reference("faults"), { "type": "null" }] }),
        Form::FaultOrFaults => json!({ "anyOf": [
            text(),
            { "$ref": "#/$defs/faults/items" },
            reference("faults"),
            { "type": "null" },
        ] }),
        Form::Expectations => json!({
            "type": "array",
            "items": { "allOf": [
                reference("expectation"),
                { "properties": { "target": { "pattern": TARGET } } },
            ] },
            "minItems": 1,
        }),
        Form::Checks => {
            json!({ "type": "array", "items": one_of(&keys::checks()), "minItems": 1 })
        }
        Form::Table(section) => reference(section.name),
        Form::NameOrTable(names, section) => {
            json!({ "anyOf": [one_of(names), reference(section.name)] })
        }
        Form::Tables(section) => {
            json!({ "type": ["array", "null"], "items": reference(section.name) })
        }
        Form::TablesByName(section) => json!({
            "type": ["object", "null"],
            "additionalProperties": reference(section.name),
        }),
        Form::Load(name) => reference(&format!("load_{name}")),
    }
}

fn one_of(names: &[&str]) -> Value {
    let spellings: Vec<String> = names
        .iter()
        .flat_map(|name| gates::spellings(name))
        .collect();
    json!({ "enum": spellings })
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
                    // Who is spoken to is written out.
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
                    add_dashed(properties, &place);
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

fn add_dashed(properties: &mut Map<String, Value>, place: &str) {
    let names: Vec<String> = properties.keys().cloned().collect();
    for name in names.iter().filter(|name| name.contains('_')) {
        let other = json!({ "$ref": format!("{place}/{name}") });
        properties.insert(name.replace('_', "-"), other);
    }
}

fn allow_variable(schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    if takes_any_text(object) {
        return;
    }
    let mut without = object.clone();
    let mut with = Map::new();
    for name in ["description", "default"] {
        if let Some(value) = without.remove(name) {
            with.insert(name.to_owned(), value);
        }
    }
    with.insert(
        "anyOf".to_owned(),
        json!([Value::Object(without), reference("variable")]),
    );
    *object = with;
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
