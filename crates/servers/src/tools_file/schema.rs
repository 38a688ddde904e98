//! The JSON Schema of a tools file, for editors and other programs: `mock.v1`.
//!
//! It is made from the table of keys. It cannot say all that the reader checks (what is a template, that
//! schemas compile), and knows the spellings of the protocol and with `_`.

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::keys::{
    ERROR, FILE, Form, Key, MESSAGE, PROMPT, PROMPT_ARGUMENT, RESOURCE, RESOURCE_TEMPLATE,
    RESPONSE, RESULT, Section, TOOL,
};

/// The schema.
pub fn schema() -> Schema {
    let sections = [
        &TOOL,
        &RESPONSE,
        &ERROR,
        &RESULT,
        &RESOURCE,
        &RESOURCE_TEMPLATE,
        &PROMPT,
        &PROMPT_ARGUMENT,
        &MESSAGE,
        &FILE,
    ];
    let definitions: Map<String, Value> = sections
        .into_iter()
        .map(|section| (section.name.to_owned(), table(section)))
        .collect();
    let mut root = Map::new();
    for (name, value) in [
        (
            "$schema",
            json!("https://json-schema.org/draft/2020-12/schema"),
        ),
        ("title", json!("Tools file")),
        (
            "description",
            json!("What `mcprove mock` serves, in YAML, JSON or TOML."),
        ),
        (
            "anyOf",
            json!([
                reference("file"),
                {
                    "type": "object",
                    "properties": { "mock_server": reference("file") },
                    "required": ["mock_server"],
                    "additionalProperties": false,
                },
            ]),
        ),
        ("$defs", Value::Object(definitions)),
    ] {
        root.insert(name.to_owned(), value);
    }
    Schema::from(root)
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn table(section: &Section) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in section.keys {
        let snake = snake_case(key.name);
        if snake != key.name {
            properties.insert(snake.clone(), property(key));
        }
        if key.is_required {
            required.push(if snake == key.name {
                json!({ "required": [key.name] })
            } else {
                json!({ "anyOf": [{ "required": [key.name] }, { "required": [snake] }] })
            });
        }
        properties.insert(key.name.to_owned(), property(key));
    }
    let mut table = json!({
        "description": section.title,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if let (false, Some(fields)) = (required.is_empty(), table.as_object_mut()) {
        fields.insert("allOf".to_owned(), Value::Array(required));
    }
    table
}

fn property(key: &Key) -> Value {
    let mut schema = form(key.form);
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), key.explanation.into());
    }
    schema
}

fn form(form: Form) -> Value {
    let text = json!({ "type": ["string", "number", "boolean"] });
    let response = || json!({ "anyOf": [text, reference(RESULT.name)] });
    match form {
        Form::Text => text,
        Form::Boolean => json!({ "type": "boolean" }),
        Form::Count => json!({ "type": "integer", "minimum": 1 }),
        Form::Integer => json!({ "type": "integer" }),
        Form::Map | Form::Schema => json!({ "type": "object" }),
        Form::List => json!({ "type": "array" }),
        Form::Any => json!({}),
        Form::Tables(section) => json!({ "type": "array", "items": reference(section.name) }),
        Form::Table(section) => reference(section.name),
        Form::Response => response(),
        Form::Sequence => {
            let error = json!({
                "type": "object",
                "properties": { "error": reference(ERROR.name) },
                "required": ["error"],
                "additionalProperties": false,
            });
            let given = json!({
                "type": "object",
                "properties": { "response": response() },
                "required": ["response"],
                "additionalProperties": false,
            });
            let item = json!({ "anyOf": [response(), error, given] });
            json!({ "type": "array", "items": item, "minItems": 1 })
        }
        Form::PromptArguments => {
            let item = json!({ "anyOf": [{ "type": "string" }, reference(PROMPT_ARGUMENT.name)] });
            json!({ "type": "array", "items": item })
        }
        Form::Messages => {
            let item = json!({ "anyOf": [text, reference(MESSAGE.name)] });
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
