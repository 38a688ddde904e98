//! What is called: `[[scenario.tool_call]]`, and arguments wherever they stand.

use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::tree::{Data, Field};
use serde_json::Value;

use super::keys::{self, TOOL_CALL};
use crate::drive::ToolCall;

const HINT: &str = "write [[scenario.tool_call]] with a name for each tool";

/// Reads `tool_call`.
pub(super) fn read(reader: &mut Reader<'_>, scenario: &Section<'_>) -> Vec<ToolCall> {
    let Some(field) = scenario.get("tool_call") else {
        return Vec::new();
    };
    let known = keys::names(TOOL_CALL);
    let mut calls = Vec::new();
    for node in reader.list(field, HINT) {
        let section = reader.section(node, "[[scenario.tool_call]]", &known, |name| {
            (name == "tool").then(|| "the tool is called `name` here".to_owned())
        });
        let name = required(reader, &section, "name");
        let args = arguments(reader, &section);
        let weight = weight(reader, &section);
        if let Some(name) = name {
            let call = ToolCall::new(name).weight(weight);
            calls.push(call.args(args.unwrap_or(Value::Null)));
        }
    }
    let weights = calls.iter().map(|call| call.weight);
    check_weights(reader, field, weights);
    calls
}

/// A text that must be there.
pub fn required<'d>(reader: &mut Reader<'_>, section: &Section<'d>, name: &str) -> Option<&'d str> {
    if section.get(name).is_none() {
        let message = format!("{} has no `{name}`", section.label);
        reader.problem(section.span(), message, format!("add {name} = \"…\""));
    }
    reader.text(section, name)
}

/// The weight, or one.
pub(super) fn weight(reader: &mut Reader<'_>, section: &Section<'_>) -> f64 {
    reader
        .number(section, "weight", "a number from 0 up", |value| {
            value >= 0.0
        })
        .unwrap_or(1.0)
}

/// Something must be chosen at all.
pub(super) fn check_weights(
    reader: &mut Reader<'_>,
    field: &Field,
    weights: impl ExactSizeIterator<Item = f64>,
) {
    let count = weights.len();
    let sum: f64 = weights.sum();
    if count > 0 && (sum <= 0.0 || !sum.is_finite()) {
        let message = format!("the weights of `{}` add up to {sum}", field.name);
        reader.problem(
            &field.span,
            message,
            "give at least one a weight of more than 0",
        );
    }
}

/// The arguments in `args`: a table, or JSON in a text.
pub(super) fn arguments(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<Value> {
    let field = section.get("args")?;
    let expected = "a table, or an object of JSON in a text";
    let hint = "write { name = \"value\" } or '{\"name\": null}'";
    match &field.value.data {
        Data::Table(_) => {
            for node in field.value.beyond_json() {
                let message = "JSON has no such number".to_owned();
                reader.problem(&node.span, message, "write it as a text, or leave it out");
            }
            field.value.to_json().ok()
        }
        Data::Text(text) => match serde_json::from_str::<Value>(text) {
            Ok(value @ Value::Object(_)) => Some(value),
            Ok(_) => {
                reader.wrong(field, expected, hint);
                None
            }
            Err(error) => {
                reader.wrong(field, expected, format!("{hint}; {error}"));
                None
            }
        },
        _ => {
            reader.wrong(field, expected, hint);
            None
        }
    }
}
