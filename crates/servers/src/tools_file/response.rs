//! What a tool answers: texts, whole results, errors, one after the other.

use mcprove_fault::FAILURE_CODE;
use mcprove_settings::reader::Reader;
use mcprove_settings::tree::{Data, Field, Node};
use serde_json::{Map, Value, json};

use super::keys::is_same;
use super::table::{Table, check_template, json as json_of, scalar_text};
use crate::mock::{Answer, Rule, Template, When};

const RESULT_HINT: &str =
    "write a text, or a whole result such as `{ content: [\"found it\"], isError: false }`";

/// One of `responses`.
pub fn rule(reader: &mut Reader<'_>, node: &Node, label: &str) -> Option<Rule> {
    let table = Table::read(reader, node, "response", label)?;
    let when = when(reader, &table);
    let given: Vec<&Field> = ["response", "error", "sequence"]
        .into_iter()
        .filter_map(|name| table.get(name))
        .collect();
    let answers = match given[..] {
        [field] if is_same(&field.name, "response") => vec![response(reader, &field.value)?],
        [field] if is_same(&field.name, "error") => vec![error(reader, &field.value)?],
        [field] => sequence(reader, field)?,
        _ => {
            let message = format!("{label} needs one of `response`, `error` and `sequence`");
            let hint = match given.len() {
                0 => "add `response: …`",
                _ => "keep one of them; `sequence` may hold responses and errors",
            };
            reader.problem(&node.span, message, hint);
            return None;
        }
    };
    Some(Rule {
        when: when?,
        answers,
    })
}

fn when(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<When> {
    let Some(field) = table.get("when") else {
        return Some(When::Always);
    };
    match &field.value.data {
        Data::Null => Some(When::Always),
        Data::Table(_) => match json_of(reader, &field.value)? {
            Value::Object(wanted) => Some(When::Has(wanted)),
            _ => None,
        },
        _ => {
            let hint = "write a value for each argument: when: { query: x }";
            reader.wrong(field, "a map of arguments", hint);
            None
        }
    }
}

fn sequence(reader: &mut Reader<'_>, field: &Field) -> Option<Vec<Answer>> {
    let hint = "write [first, second]";
    let nodes = reader.list(field, hint);
    if nodes.is_empty() {
        if matches!(field.value.data, Data::List(_)) {
            reader.wrong(field, "a list that is not empty", hint);
        }
        return None;
    }
    all(nodes, |node| item(reader, node))
}

/// What is made of each, if all are good; every one is looked at, for its problems.
pub fn all<T>(nodes: &[Node], make: impl FnMut(&Node) -> Option<T>) -> Option<Vec<T>> {
    let items: Vec<Option<T>> = nodes.iter().map(make).collect();
    items.into_iter().collect()
}

/// A response, or a table that says which of both it is.
fn item(reader: &mut Reader<'_>, node: &Node) -> Option<Answer> {
    if let Data::Table(fields) = &node.data
        && let [field] = &fields[..]
    {
        match field.name.as_str() {
            "error" => return error(reader, &field.value),
            "response" => return response(reader, &field.value),
            _ => {}
        }
    }
    response(reader, node)
}

/// A JSON-RPC error.
fn error(reader: &mut Reader<'_>, node: &Node) -> Option<Answer> {
    let table = Table::read(reader, node, "error", "`error`")?;
    let code = match table.get("code") {
        None => Some(FAILURE_CODE),
        Some(field) => {
            let code = field
                .value
                .integer()
                .and_then(|code| i64::try_from(code).ok());
            if code.is_none() {
                reader.wrong(field, "a whole number", "for instance -32000");
            }
            code
        }
    };
    let message = table.get("message").map(|field| &field.value);
    let is_good = message.is_some_and(|node| check_template(reader, node));
    let message = table.any_text(reader, "message");
    let data = match table.get("data") {
        None => Some(None),
        Some(field) if check_template(reader, &field.value) => {
            let data = json_of(reader, &field.value);
            data.and_then(|data| Template::parse(&data).ok()).map(Some)
        }
        Some(_) => None,
    };
    if !is_good {
        return None;
    }
    Some(Answer::Error {
        code: code?,
        message: Template::text(&message?).ok()?,
        data: data?,
    })
}

/// A text, or a whole result.
pub fn response(reader: &mut Reader<'_>, node: &Node) -> Option<Answer> {
    if let Some(text) = scalar_text(node) {
        let is_good = check_template(reader, node);
        return is_good.then(|| Answer::text(&text).ok()).flatten();
    }
    let Data::Table(fields) = &node.data else {
        let message = format!(
            "a response must be a text or a whole result, not {}",
            node.kind()
        );
        reader.problem(&node.span, message, RESULT_HINT);
        return None;
    };
    let tells = |name: &str| fields.iter().any(|field| is_same(&field.name, name));
    if !tells("content") && !tells("structuredContent") {
        let message = "a whole result has `content` or `structuredContent`".to_owned();
        reader.problem(&node.span, message, RESULT_HINT);
        return None;
    }
    let table = Table::read(reader, node, "result", "the result")?;
    if !check_template(reader, node) {
        return None;
    }
    let mut result = table.listed(reader, &["content"]);
    if let Some(field) = table.get("content") {
        result.insert("content".to_owned(), content(reader, field)?);
    }
    Template::result(&result).ok().map(Answer::Result)
}

/// Blocks of content; a text stands for a block of text.
fn content(reader: &mut Reader<'_>, field: &Field) -> Option<Value> {
    let hint = "write [\"a text\", { type: image, data: …, mimeType: image/png }]";
    let nodes = reader.list(field, hint);
    if !matches!(field.value.data, Data::List(_)) {
        return None;
    }
    all(nodes, |node| block(reader, node)).map(Value::Array)
}

/// One block of content.
pub fn block(reader: &mut Reader<'_>, node: &Node) -> Option<Value> {
    if let Some(text) = scalar_text(node) {
        return Some(json!({ "type": "text", "text": text }));
    }
    let has_type = match &node.data {
        Data::Table(fields) => fields
            .iter()
            .any(|field| field.name == "type" && field.value.text().is_some()),
        _ => false,
    };
    if !has_type {
        let message = "a block of content is a text, or a map with `type`".to_owned();
        let hint = "write { type: text, text: … }; other types are image, audio, resource_link and resource";
        reader.problem(&node.span, message, hint);
        return None;
    }
    let block = json_of(reader, node)?;
    let is_text = block.get("type").and_then(Value::as_str) == Some("text");
    if is_text && !block.get("text").is_some_and(Value::is_string) {
        let message = "a block of type text has a `text`".to_owned();
        reader.problem(&node.span, message, "add `text: …`");
        return None;
    }
    Some(block)
}

/// What was recorded of a call, word by word.
pub fn recorded(result: Map<String, Value>) -> Answer {
    Answer::Result(Template::literal(Value::Object(result)))
}
