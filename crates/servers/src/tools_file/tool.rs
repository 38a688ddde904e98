//! Tools.

use mcprove_settings::json_schema::{Remote, compile};
use mcprove_settings::reader::Reader;
use mcprove_settings::text::shorten;
use mcprove_settings::tree::{Data, Field, Node};
use serde_json::{Value, json};

use super::response;
use super::table::{Table, Unknown};
use crate::mock::{Otherwise, Rule, ToolSpec, When};

/// How much of what is wrong with a schema is told.
const PROBLEM_MAX: usize = 300;

pub fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    place: usize,
    unknown: Unknown,
) -> Option<ToolSpec> {
    let label = format!("tool {}", place + 1);
    let mut table = Table::read_with(reader, node, "tool", label, unknown)?;
    let name = table.text(reader, "name");
    if let Some(name) = &name {
        table.label = format!("tool `{}`", shorten(name, 60));
    }
    let mut listed = table.listed(reader, &["response", "responses"]);
    for schema in ["inputSchema", "outputSchema"] {
        if let (Some(field), Some(value)) = (table.get(schema), listed.get(schema)) {
            check_schema(reader, field, value);
        }
    }
    complete_input(
        reader,
        &table,
        listed.entry("inputSchema").or_insert_with(|| json!({})),
    );
    let rules = rules(reader, &table);
    name.map(|_| ToolSpec {
        listed,
        rules,
        otherwise: Otherwise::MadeUp,
    })
}

/// The schema of arguments is that of an object, as the protocol has it.
fn complete_input(reader: &mut Reader<'_>, table: &Table<'_>, schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    let is_object = fields.entry("type").or_insert_with(|| "object".into()) == "object";
    if !is_object && let Some(field) = table.get("inputSchema") {
        let place = at(&field.value, "/type");
        let message = "arguments are an object, so `type` must be object".to_owned();
        reader.problem(&place.span, message, "write type: object");
    }
}

fn check_schema(reader: &mut Reader<'_>, field: &Field, schema: &Value) {
    if let Err(error) = compile(schema, None, Remote::Refused) {
        let place = at(&field.value, &error.instance_path().to_string());
        let problem = shorten(&error.to_string(), PROBLEM_MAX);
        let message = format!("`{}` is not a JSON Schema: {problem}", field.name);
        let hint = "see https://json-schema.org; nothing is fetched, so `$ref` can only point into the schema";
        reader.problem(&place.span, message, hint);
    }
}

/// What a JSON pointer leads to, as far as it goes.
fn at<'n>(node: &'n Node, pointer: &str) -> &'n Node {
    let names = pointer.split('/').skip(1);
    let names = names.map(|name| name.replace("~1", "/").replace("~0", "~"));
    let mut found = node;
    for name in names {
        let inner = match &found.data {
            Data::Table(fields) => {
                let mut fields = fields.iter();
                fields
                    .find(|field| field.name == name)
                    .map(|field| &field.value)
            }
            Data::List(nodes) => name.parse().ok().and_then(|index: usize| nodes.get(index)),
            _ => None,
        };
        match inner {
            Some(inner) => found = inner,
            None => break,
        }
    }
    found
}

fn rules(reader: &mut Reader<'_>, table: &Table<'_>) -> Vec<Rule> {
    let mut rules = Vec::new();
    if let Some(field) = table.get("responses") {
        let nodes = reader.list(
            field,
            "write one `- { when: { query: x }, response: … }` for each",
        );
        for (index, node) in nodes.iter().enumerate() {
            let label = format!("response {} of {}", index + 1, table.label);
            rules.extend(response::rule(reader, node, &label));
        }
    }
    let fixed = table.get("response");
    let fixed = fixed.and_then(|field| response::response(reader, &field.value));
    rules.extend(fixed.map(|answer| Rule {
        when: When::Always,
        answers: vec![answer],
    }));
    rules
}
