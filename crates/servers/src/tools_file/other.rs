//! Resources and prompts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::table::{Table, check_template, scalar_text};
use super::tool::{all, block};
use crate::mock::item::pattern_problem;
use crate::prelude::*;

pub fn resource(reader: &mut Reader<'_>, node: &Node, place: usize) -> Option<Item> {
    let label = format!("resource {}", place + 1);
    let table = Table::read(reader, node, "resource", label)?;
    item(reader, &table, "uri", |content| {
        Some(Template::literal(content))
    })
}

pub fn resource_template(reader: &mut Reader<'_>, node: &Node, place: usize) -> Option<Item> {
    let label = format!("resource template {}", place + 1);
    let table = Table::read(reader, node, "resourceTemplate", label)?;
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
    item(reader, &table, "uriTemplate", |content| {
        Template::texts(content).ok()
    })
}

/// A resource, which is called what its address is unless it has a name.
fn item(
    reader: &mut Reader<'_>,
    table: &Table,
    address: &str,
    template: impl FnOnce(Value) -> Option<Template>,
) -> Option<Item> {
    let mut listed = table.listed(reader, &["text", "blob"]);
    if let (None, Some(address)) = (listed.get("name"), listed.get(address).cloned()) {
        listed.insert("name".to_owned(), address);
    }
    let content = match (table.get("text"), table.get("blob")) {
        (Some(_), None) => template(json!({ "text": table.any_text(reader, "text")? }))?,
        (None, Some(field)) => {
            let blob = table.any_text(reader, "blob")?;
            if STANDARD.decode(blob.as_bytes()).is_err() {
                let hint = "as `base64 FILE` prints them, on one line";
                reader.wrong(field, "bytes in base64", hint);
            }
            Template::literal(json!({ "blob": blob }))
        }
        (text, _) => {
            let has = if text.is_some() {
                "both `text` and"
            } else {
                "neither `text` nor"
            };
            let message = sentence!("{} has {has} `blob`", table.label);
            reader.problem(&table.node.span, message, "give one of them");
            return None;
        }
    };
    Some(Item { listed, content })
}

pub fn prompt(reader: &mut Reader<'_>, node: &Node, place: usize) -> Option<Item> {
    let table = Table::read(reader, node, "prompt", format!("prompt {}", place + 1))?;
    let name = table.text(reader, "name");
    let mut listed = table.listed(reader, &["arguments", "messages"]);
    if let Some(field) = table.get("arguments") {
        listed.insert("arguments".to_owned(), arguments(reader, field));
    }
    let field = table.get("messages")?;
    let hint = "write [\"Sum up ${args.topic}\"], or { role, content } each";
    let messages = all(reader.list(field, hint), |node| message(reader, node));
    check_template(reader, &field.value);
    let content = Template::texts(messages?.into()).ok()?;
    name.map(|_| Item { listed, content })
}

fn arguments(reader: &mut Reader<'_>, field: &Field) -> Value {
    let arguments = reader
        .list(field, "write [topic], or [{ name: topic, required: true }]")
        .iter()
        .filter_map(|node| {
            if let Some(name) = node.text() {
                return Some(json!({ "name": name }));
            }
            let table = Table::read(reader, node, "promptArgument", "an argument")?;
            Some(table.listed(reader, &[]).into())
        });
    arguments.collect()
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
