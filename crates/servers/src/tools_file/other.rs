//! Resources and prompts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcprove_settings::reader::Reader;
use mcprove_settings::tree::{Field, Node};
use serde_json::{Map, Value, json};

use super::response::{all, block};
use super::table::{Table, check_template, scalar_text};
use crate::mock::resource::pattern_problem;
use crate::mock::{Contents, PromptSpec, ResourceSpec, ResourceTemplateSpec, Template};

pub fn resource(reader: &mut Reader<'_>, node: &Node, place: usize) -> Option<ResourceSpec> {
    let label = format!("resource {}", place + 1);
    let table = Table::read(reader, node, "resource", label)?;
    let listed = named(table.listed(reader, &["text", "blob"]), "uri");
    let contents = contents(reader, &table, |text| Some(Template::literal(text.into())));
    Some(ResourceSpec {
        listed,
        contents: contents?,
    })
}

pub fn resource_template(
    reader: &mut Reader<'_>,
    node: &Node,
    place: usize,
) -> Option<ResourceTemplateSpec> {
    let label = format!("resource template {}", place + 1);
    let table = Table::read(reader, node, "resourceTemplate", label)?;
    let listed = named(table.listed(reader, &["text", "blob"]), "uriTemplate");
    if let Some(field) = table.get("uriTemplate")
        && let Some(problem) = field.value.text().and_then(pattern_problem)
    {
        let hint =
            "write {name} for what has no slash and {+name} for anything, with some text between";
        reader.problem(&field.value.span, problem, hint);
    }
    if let Some(field) = table.get("text") {
        check_template(reader, &field.value);
    }
    let contents = contents(reader, &table, |text| Template::text(&text).ok());
    Some(ResourceTemplateSpec {
        listed,
        contents: contents?,
    })
}

/// A resource without a name is called what its address is.
fn named(mut listed: Map<String, Value>, address: &str) -> Map<String, Value> {
    if let (None, Some(address)) = (listed.get("name"), listed.get(address).cloned()) {
        listed.insert("name".to_owned(), address);
    }
    listed
}

fn contents(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    template: impl FnOnce(String) -> Option<Template>,
) -> Option<Contents> {
    match (table.get("text"), table.get("blob")) {
        (Some(_), None) => table
            .any_text(reader, "text")
            .and_then(template)
            .map(Contents::Text),
        (None, Some(field)) => {
            let blob = table.any_text(reader, "blob")?;
            if STANDARD.decode(blob.as_bytes()).is_err() {
                reader.wrong(
                    field,
                    "bytes in base64",
                    "as `base64 FILE` prints them, on one line",
                );
                return None;
            }
            Some(Contents::Blob(blob))
        }
        (text, _) => {
            let message = match text {
                Some(_) => format!("{} has both `text` and `blob`", table.label),
                None => format!("{} has neither `text` nor `blob`", table.label),
            };
            reader.problem(&table.node.span, message, "give one of them");
            None
        }
    }
}

pub fn prompt(reader: &mut Reader<'_>, node: &Node, place: usize) -> Option<PromptSpec> {
    let label = format!("prompt {}", place + 1);
    let table = Table::read(reader, node, "prompt", label)?;
    let name = table.text(reader, "name");
    let mut listed = table.listed(reader, &["arguments", "messages"]);
    if let Some(field) = table.get("arguments") {
        listed.insert("arguments".to_owned(), arguments(reader, field));
    }
    let messages = messages(reader, table.get("messages")?)?;
    name.and(Some(PromptSpec { listed, messages }))
}

fn arguments(reader: &mut Reader<'_>, field: &Field) -> Value {
    let nodes = reader.list(field, "write [topic], or [{ name: topic, required: true }]");
    let arguments = nodes.iter().filter_map(|node| {
        if let Some(name) = node.text() {
            return Some(json!({ "name": name }));
        }
        let label = "an argument";
        let table = Table::read(reader, node, "promptArgument", label)?;
        Some(Value::Object(table.listed(reader, &[])))
    });
    Value::Array(arguments.collect())
}

fn messages(reader: &mut Reader<'_>, field: &Field) -> Option<Template> {
    let nodes = reader.list(
        field,
        "write [\"Sum up ${args.topic}\"], or { role, content } each",
    );
    let messages = all(nodes, |node| message(reader, node));
    if !check_template(reader, &field.value) {
        return None;
    }
    Template::texts(&Value::Array(messages?)).ok()
}

fn message(reader: &mut Reader<'_>, node: &Node) -> Option<Value> {
    if let Some(text) = scalar_text(node) {
        return Some(json!({ "role": "user", "content": { "type": "text", "text": text } }));
    }
    let table = Table::read(reader, node, "message", "a message")?;
    let role = match table.get("role") {
        None => "user",
        Some(field) => reader.choice_of(&field.value, "role", &["user", "assistant"])?,
    };
    let content = block(reader, &table.get("content")?.value)?;
    Some(json!({ "role": role, "content": content }))
}
