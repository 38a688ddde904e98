//! The blocks about which calls were made and in which order: `trajectory`, `trajectory_axes` and
//! `golden_path`.

use mcprove_score::agent::golden_path::GoldenPathBlock;
use mcprove_score::agent::trajectory::{ArgumentShape, ExpectedCall, Mode, TrajectoryBlock};
use mcprove_score::agent::trajectory_axes::{Dependency, Order, TrajectoryAxesBlock};
use mcprove_score::gate::{Gates, Matcher};
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::table::{self, name_of, names, required};
use mcprove_settings::tree::{Data, Node};

use super::expectation::{expectations, json};
use super::keys::{self, CALL};

pub(super) fn trajectory(reader: &mut Reader<'_>, section: &Section<'_>, gates: &mut Gates) {
    let mode = reader
        .choice(section, "mode", &keys::modes())
        .and_then(Mode::parse)
        .unwrap_or_default();
    let mut calls = Vec::new();
    if let Some(field) = section.get("calls") {
        let hint = "write a name, or { name: …, args: … }, for each call; [] for none";
        for node in reader.list(field, hint) {
            calls.extend(expected_call(reader, node));
        }
    }
    gates.trajectory = Some(TrajectoryBlock {
        mode,
        calls,
        expect: expectations(reader, section),
    });
}

/// A call: its name alone, or with its server and its arguments.
fn expected_call(reader: &mut Reader<'_>, node: &Node) -> Option<ExpectedCall> {
    if matches!(node.data, Data::Text(_)) {
        return Some(ExpectedCall {
            name: name_of(reader, node, "calls")?,
            server: None,
            args: ArgumentShape::default(),
        });
    }
    let known = keys::names(CALL);
    let node = table::spelled(reader, node, "a call", &known)?;
    let section = table::section(reader, &node, "a call", &known);
    let name = required(reader, &section, "name");
    let server = reader.text(&section, "server").map(str::to_owned);
    let args = match section.get("args") {
        Some(field) => argument_shape(reader, &field.value)?,
        None => ArgumentShape::default(),
    };
    Some(ExpectedCall {
        name: name?,
        server,
        args,
    })
}

fn argument_shape(reader: &mut Reader<'_>, node: &Node) -> Option<ArgumentShape> {
    let value = json(reader, node)?;
    let how_to = "write { exact: { query: x } }, or leave `args` out where they do not matter";
    let read = ArgumentShape::from_value(&value)
        .map_err(|message| (message, how_to.to_owned()))
        .and_then(|shape| check_schemas(&shape).map(|()| shape));
    match read {
        Ok(shape) => Some(shape),
        Err((message, hint)) => {
            reader.problem(&node.span, format!("`args`: {message}"), hint);
            None
        }
    }
}

/// What is wrong with a JSON Schema, and what to try: it would only show when a call is compared
/// with it.
fn check_schemas(shape: &ArgumentShape) -> Result<(), (String, String)> {
    match shape {
        ArgumentShape::Schema(schema) => Matcher::new("schema", schema)
            .map(|_| ())
            .map_err(|error| (error.to_string(), error.hint().to_owned())),
        ArgumentShape::OneOf(shapes) => shapes.iter().try_for_each(check_schemas),
        _ => Ok(()),
    }
}

pub(super) fn trajectory_axes(reader: &mut Reader<'_>, section: &Section<'_>, gates: &mut Gates) {
    let dependencies = pairs(reader, section, "dependencies", ["producer", "consumer"]);
    let order = pairs(reader, section, "order", ["first", "second"]);
    gates.trajectory_axes = Some(TrajectoryAxesBlock {
        dependencies: dependencies
            .into_iter()
            .map(|[producer, consumer]| Dependency { producer, consumer })
            .collect(),
        order: order
            .into_iter()
            .map(|[first, second]| Order { first, second })
            .collect(),
        expect: expectations(reader, section),
    });
}

/// Pairs of names.
fn pairs(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    list: &str,
    known: [&'static str; 2],
) -> Vec<[String; 2]> {
    let Some(field) = section.get(list) else {
        return Vec::new();
    };
    let [before, after] = known;
    let hint = format!("write a line `- {{ {before}: a, {after}: b }}` for each");
    let mut pairs = Vec::new();
    for node in reader.list(field, &hint) {
        let Some(node) = table::spelled(reader, node, "an edge", &known) else {
            continue;
        };
        let section = table::section(reader, &node, "an edge", &known);
        let names = known.map(|name| required(reader, &section, name));
        if let [Some(before), Some(after)] = names {
            pairs.push([before, after]);
        }
    }
    pairs
}

pub(super) fn golden_path(reader: &mut Reader<'_>, section: &Section<'_>, gates: &mut Gates) {
    let default = GoldenPathBlock::default();
    let mut switch = |name: &str, default: bool| reader.boolean(section, name).unwrap_or(default);
    let allow_extra_steps = switch("allow_extra_steps", default.allow_extra_steps);
    let penalize_backtracking = switch("penalize_backtracking", default.penalize_backtracking);
    let penalize_repeated_tools =
        switch("penalize_repeated_tools", default.penalize_repeated_tools);
    gates.golden_path = Some(GoldenPathBlock {
        calls: names(reader, section, "calls"),
        allow_extra_steps,
        penalize_backtracking,
        penalize_repeated_tools,
        expect: expectations(reader, section),
    });
}
