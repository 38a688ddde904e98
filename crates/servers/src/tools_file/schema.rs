//! The JSON Schema of a tools file, for editors and other programs: `mock.v1`.
//!
//! It is made from the table of keys. It cannot say all that the reader checks (what is a template, that
//! schemas compile), and knows the spellings of the protocol and with `_`.

use schemars::{Schema, json_schema};
use serde_json::{Map, Value, json};

use super::keys::{Form, Key, SECTIONS, Section};

/// The schema.
pub fn schema() -> Schema {
    let tables = SECTIONS
        .iter()
        .map(|section| (section.name.clone(), table(section)));
    json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tools file",
        "description": "What `mcprove mock` serves, in YAML, JSON or TOML.",
        "anyOf": [
            reference("file"),
            {
                "type": "object",
                "properties": { "mock_server": reference("file") },
                "required": ["mock_server"],
                "additionalProperties": false,
            },
        ],
        "$defs": tables.collect::<Map<_, _>>(),
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn table(section: &Section) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in &section.keys {
        let snake = snake_case(&key.name);
        if snake != key.name {
            properties.insert(snake.clone(), property(key));
        }
        if key.required {
            required.push(if snake == key.name {
                json!({ "required": [key.name] })
            } else {
                json!({ "anyOf": [{ "required": [key.name] }, { "required": [snake] }] })
            });
        }
        properties.insert(key.name.clone(), property(key));
    }
    let mut table = json!({
        "description": section.title,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        table["allOf"] = Value::Array(required);
    }
    table
}

fn property(key: &Key) -> Value {
    let mut schema = form(&key.form);
    schema["description"] = key.about.clone().into();
    schema
}

fn form(form: &Form) -> Value {
    let text = json!({ "type": ["string", "number", "boolean"] });
    let response = || json!({ "anyOf": [text, reference("result")] });
    match form {
        Form::Text => text,
        Form::Boolean => json!({ "type": "boolean" }),
        Form::Count => json!({ "type": "integer", "minimum": 1 }),
        Form::Integer => json!({ "type": "integer" }),
        Form::Map | Form::Schema => json!({ "type": "object" }),
        Form::List => json!({ "type": "array" }),
        Form::Any => json!({}),
        Form::Tables(section) => json!({ "type": "array", "items": reference(section) }),
        Form::Table(section) => reference(section),
        Form::Response => response(),
        Form::Sequence => {
            let only = |name: &str, schema: Value| {
                json!({
                    "type": "object",
                    "properties": { name: schema },
                    "required": [name],
                    "additionalProperties": false,
                })
            };
            let error = only("error", reference("error"));
            let given = only("response", response());
            let item = json!({ "anyOf": [response(), error, given] });
            json!({ "type": "array", "items": item, "minItems": 1 })
        }
        Form::PromptArguments => {
            let item = json!({ "anyOf": [{ "type": "string" }, reference("promptArgument")] });
            json!({ "type": "array", "items": item })
        }
        Form::Messages => {
            let item = json!({ "anyOf": [text, reference("message")] });
            json!({ "type": "array", "items": item })
        }
    }
}

/// `input_schema` for `inputSchema`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
