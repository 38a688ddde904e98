//! Tools.

use crate::prelude::*;
use super::response;
use super::table::Table;

/// How much of what is wrong with a schema is told.
const PROBLEM_MAX: usize = 300;

/// A tool; one that a server listed may have keys that are not known.
pub fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    place: usize,
    is_recorded: bool,
) -> Option<ToolSpec> {
    let label = format!("tool {}", place + 1);
    let mut table = if is_recorded {
        Table::read_recorded(reader, node, "tool", label)?
    } else {
        Table::read(reader, node, "tool", label)?
    };
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

fn rules(reader: &mut Reader<'_>, table: &Table<'_>) -> Vec<Rule> {
    let mut rules = Vec::new();
    if let Some(field) = table.get("responses") {
        let hint = "write one `- { when: { query: x }, response: … }` for each";
        for (number, node) in (1..).zip(reader.list(field, hint)) {
            let label = format!("response {number} of {}", table.label);
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
