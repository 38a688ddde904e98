//! The patterns of the scenario of that name: presets, or `[[scenario.pattern]]` with steps.

use std::time::Duration;

use mcprove_settings::reader::{Least, Reader, Section};
use mcprove_settings::tree::{Field, Node};
use serde_json::Value;

use super::calls::{arguments, check_weights, required, weight};
use super::keys::{self, ERROR_BEHAVIORS, PATTERN, STEP};
use crate::drive::scenario::{PRESETS, preset};
use crate::drive::{ErrorBehavior, Pattern, Step, ToolCall};

const STEP_HINT: &str = "write {tool = \"search\", args = {query = \"x\"}} or {list = \"tools\"}";

/// Reads the patterns; the knobs of the scenario are their defaults.
pub(super) fn read(reader: &mut Reader<'_>, scenario: &Section<'_>) -> Vec<Pattern> {
    let think_time = reader.duration(scenario, "think_time", Least::Zero);
    let error_behavior = behavior(reader, scenario);
    let preset_name = reader.choice(scenario, "preset", PRESETS);
    let defaults = Pattern {
        think_time: think_time.unwrap_or(Duration::ZERO),
        error_behavior: error_behavior.unwrap_or_default(),
        ..preset(preset_name.or(PRESETS.first().copied()).unwrap_or_default())
    };
    let Some(field) = scenario.get("pattern") else {
        return vec![defaults];
    };
    if let Some(second) = scenario.get("preset") {
        let message = "`preset` and [[scenario.pattern]] are both given".to_owned();
        let hint = "leave out `preset`; a pattern without steps may have the name of a preset";
        reader.problem(&second.span, message, hint);
    }
    let hint = "write [[scenario.pattern]] with a name and steps for each sequence";
    let mut patterns = Vec::new();
    let nodes = reader.list(field, hint);
    for node in nodes {
        patterns.extend(read_one(reader, node, &defaults));
    }
    if nodes.is_empty() {
        reader.problem(&field.span, "there is no pattern".into(), hint);
    }
    check_weights(reader, field, patterns.iter().map(|pattern| pattern.weight));
    patterns
}

fn read_one(reader: &mut Reader<'_>, node: &Node, defaults: &Pattern) -> Option<Pattern> {
    let known = keys::names(PATTERN);
    let section = reader.section(node, "[[scenario.pattern]]", &known, |name| {
        (name == "step").then(|| "did you mean \"steps\", a list?".to_owned())
    });
    let name = required(reader, &section, "name");
    let weight = weight(reader, &section);
    let think_time = reader.duration(&section, "think_time", Least::Zero);
    let error_behavior = behavior(reader, &section);
    let mut steps = Vec::new();
    if let Some(field) = section.get("steps") {
        for node in reader.list(field, STEP_HINT) {
            steps.extend(read_step(reader, node));
        }
    }
    let mut name = name?.to_owned();
    let is_empty = section.get("steps").is_none_or(is_empty_list);
    if is_empty {
        let normal = name.replace('-', "_");
        if !PRESETS.contains(&normal.as_str()) {
            let message = format!("the pattern {name:?} has no steps, and is no preset");
            let hint = format!("add steps, or use one of {}", PRESETS.join(", "));
            reader.problem(section.span(), message, hint);
            return None;
        }
        name = normal;
    }
    Some(Pattern {
        name,
        weight,
        think_time: think_time.unwrap_or(defaults.think_time),
        error_behavior: error_behavior.unwrap_or(defaults.error_behavior),
        steps,
    })
}

fn is_empty_list(field: &Field) -> bool {
    matches!(&field.value.data, mcprove_settings::tree::Data::List(nodes) if nodes.is_empty())
}

fn behavior(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<ErrorBehavior> {
    let name = reader.choice(section, "error_behavior", ERROR_BEHAVIORS)?;
    Some(match name {
        "abort" => ErrorBehavior::Abort,
        "stop" => ErrorBehavior::Stop,
        _ => ErrorBehavior::Continue,
    })
}

fn read_step(reader: &mut Reader<'_>, node: &Node) -> Option<Step> {
    let known = keys::names(STEP);
    let section = reader.section(node, "a step", &known, |name| {
        (name == "name").then(|| "the tool is called `tool` here".to_owned())
    });
    let args = arguments(reader, &section);
    match (section.get("tool"), section.get("list")) {
        (Some(_), None) => {
            let name = reader.text(&section, "tool")?;
            Some(Step::Call(
                ToolCall::new(name).args(args.unwrap_or(Value::Null)),
            ))
        }
        (None, Some(list)) => {
            if let Some(field) = section.get("args") {
                let message = "a list takes no `args`".to_owned();
                reader.problem(&field.span, message, STEP_HINT);
            }
            reader
                .choice_of(&list.value, "`list`", &["tools"])
                .map(|_| Step::ListTools)
        }
        (Some(_), Some(second)) => {
            let message = "a step has either `tool` or `list`".to_owned();
            reader.problem(&second.span, message, STEP_HINT);
            None
        }
        (None, None) => {
            let message = "a step has neither `tool` nor `list`".to_owned();
            reader.problem(&node.span, message, STEP_HINT);
            None
        }
    }
}
