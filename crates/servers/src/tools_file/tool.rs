//! Tools, and what they answer: texts, whole results, errors, one after the other.

use mcprove_arguments::{ArgumentsError, SchemaCheck};
use mcprove_fault::FAILURE_CODE;
use mcprove_settings::message::Message;

use super::keys::is_same;
use super::table::{Table, check_template, scalar_text};
use crate::prelude::*;

/// A tool; one that a server listed may have keys that are not known.
pub fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    place: usize,
    is_recorded: bool,
) -> Option<ToolSpec> {
    let label = sentence!("tool {}", place + 1);
    let mut table = Table::read_listed(reader, node, "tool", label, is_recorded)?;
    let name = table.text(reader, "name");
    if let Some(name) = &name {
        table.label = sentence!("tool `{}`", shorten(name, 60));
    }
    let mut listed = table.listed(reader, &["response", "responses"]);
    for schema in ["inputSchema", "outputSchema"] {
        if let (Some(field), Some(value)) = (table.get(schema), listed.get(schema)) {
            check_schema(reader, field, value);
        }
    }
    // The schema of arguments is that of an object, as the protocol has it.
    let input = listed.entry("inputSchema").or_insert_with(|| json!({}));
    if let Some(fields) = input.as_object_mut()
        && fields.entry("type").or_insert_with(|| "object".into()) != "object"
        && let Some(field) = table.get("inputSchema")
    {
        let message = "arguments are an object, so `type` must be object";
        let place = at(&field.value, "/type");
        reader.problem(&place.span, message, "write type: object");
    }
    let rules = rules(reader, &table);
    name.map(|_| ToolSpec {
        listed,
        rules,
        otherwise: Otherwise::MadeUp,
    })
}

fn check_schema(reader: &mut Reader<'_>, field: &Field, schema: &Value) {
    if let Err(error) = SchemaCheck::strict(schema) {
        let place = match &error {
            ArgumentsError::InvalidSchema { place, .. } => at(&field.value, place),
            _ => &field.value,
        };
        let message = format!("`{}`: {error}", field.name);
        let hint = "see https://json-schema.org; nothing is fetched, so `$ref` can only point into the schema";
        reader.problem(&place.span, message, hint);
    }
}

/// What a JSON pointer leads to, as far as it goes.
fn at<'n>(node: &'n Node, pointer: &str) -> &'n Node {
    let mut found = node;
    for name in pointer.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        let item = || found.elements().get(name.parse::<usize>().ok()?);
        match found.get(&name).map(|field| &field.value).or_else(item) {
            Some(inner) => found = inner,
            None => break,
        }
    }
    found
}

fn rules(reader: &mut Reader<'_>, table: &Table) -> Vec<Rule> {
    let mut rules = Vec::new();
    if let Some(field) = table.get("responses") {
        let hint = "write one `- { when: { query: x }, response: … }` for each";
        for (number, node) in (1..).zip(reader.list(field, hint)) {
            let label = sentence!("response {number} of {}", table.label);
            rules.extend(rule(reader, node, &label));
        }
    }
    let fixed = table.get("response");
    let fixed = fixed.and_then(|field| response(reader, &field.value));
    rules.extend(fixed.map(|answer| Rule {
        when: When::Always,
        answers: vec![answer],
    }));
    rules
}

const RESULT_HINT: &str =
    "write a text, or a whole result such as `{ content: [\"found it\"], isError: false }`";

/// One of `responses`.
pub fn rule(reader: &mut Reader<'_>, node: &Node, label: &Message) -> Option<Rule> {
    let table = Table::read(reader, node, "response", label.clone())?;
    let when = when(reader, &table);
    let given = ["response", "error", "sequence"].map(|name| table.get(name));
    let answers = match given {
        [Some(field), None, None] => vec![response(reader, &field.value)?],
        [None, Some(field), None] => vec![error(reader, &field.value)?],
        [None, None, Some(field)] => sequence(reader, field)?,
        _ => {
            let message = sentence!("{label} needs one of `response`, `error` and `sequence`");
            let hint = match given {
                [None, None, None] => "add `response: …`",
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

fn when(reader: &mut Reader<'_>, table: &Table) -> Option<When> {
    let Some(field) = table.get("when") else {
        return Some(When::Always);
    };
    match &field.value.data {
        Data::Null => Some(When::Always),
        Data::Table(_) => match reader.json_of(&field.value)? {
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
    // A response, or a table that says which of both it is.
    all(nodes, |node| match node.fields() {
        [field] if field.name == "error" => error(reader, &field.value),
        [field] if field.name == "response" => response(reader, &field.value),
        _ => response(reader, node),
    })
}

/// What is made of each, if all are good; every one is looked at, for its problems.
pub fn all<T>(nodes: &[Node], make: impl FnMut(&Node) -> Option<T>) -> Option<Vec<T>> {
    let items: Vec<Option<T>> = nodes.iter().map(make).collect();
    items.into_iter().collect()
}

/// A JSON-RPC error.
fn error(reader: &mut Reader<'_>, node: &Node) -> Option<Answer> {
    let table = Table::read(reader, node, "error", sentence!("`error`"))?;
    check_template(reader, node);
    let mut error = json!({ "code": FAILURE_CODE });
    if let Some(field) = table.get("code") {
        let code = Kind::Signed.check(reader, field)?;
        error["code"] = Node::new(code).to_json().ok()?;
    }
    if let Some(field) = table.get("data") {
        error["data"] = reader.json_of(&field.value)?;
    }
    error["message"] = table.any_text(reader, "message")?.into();
    Template::answer(error).ok().map(Answer::Error)
}

/// A text, or a whole result.
pub fn response(reader: &mut Reader<'_>, node: &Node) -> Option<Answer> {
    let tells = |name| node.fields().iter().any(|field| is_same(&field.name, name));
    let is_table = matches!(node.data, Data::Table(_));
    if let Some(text) = scalar_text(node) {
        check_template(reader, node);
        return Answer::text(&text).ok();
    } else if !is_table {
        let kind = node.kind();
        let message = format!("a response must be a text or a whole result, not {kind}");
        reader.problem(&node.span, message, RESULT_HINT);
        return None;
    } else if !tells("content") && !tells("structuredContent") {
        let message = "a whole result has `content` or `structuredContent`";
        reader.problem(&node.span, message, RESULT_HINT);
        return None;
    }
    let table = Table::read(reader, node, "result", "the result")?;
    check_template(reader, node);
    let mut result = table.listed(reader, &["content"]);
    if let Some(field) = table.get("content") {
        // A text stands for a block of text.
        let hint = "write [\"a text\", { type: image, data: …, mimeType: image/png }]";
        let blocks = all(reader.list(field, hint), |node| block(reader, node));
        result.insert("content".to_owned(), blocks?.into());
    }
    Template::answer(result.into()).ok().map(Answer::Result)
}

/// One block of content.
pub fn block(reader: &mut Reader<'_>, node: &Node) -> Option<Value> {
    if let Some(text) = scalar_text(node) {
        return Some(json!({ "type": "text", "text": text }));
    }
    let kind = node.get("type").and_then(|field| field.value.text());
    let (message, hint) = match kind {
        None => (
            "a block of content is a text, or a map with `type`",
            "write { type: text, text: … }; other types are image, audio, resource_link and resource",
        ),
        Some("text") if node.get("text").is_none_or(|it| it.value.text().is_none()) => {
            ("a block of type text has a `text`", "add `text: …`")
        }
        Some(_) => return reader.json_of(node),
    };
    reader.problem(&node.span, message, hint);
    None
}
