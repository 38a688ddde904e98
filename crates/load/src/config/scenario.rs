//! The section `[scenario]`: which one, its settings, and what it calls.

use mcprove_settings::reader::{meant, near, one_of};
use mcprove_settings::setting::{Elsewhere, cannot_both};

use super::sections::{TOOL_CALL, TYPE, owners, scenario_settings};
use super::settings;
use crate::drive::scenario::{Entry, Given, find, names};
use crate::prelude::*;

/// Reads the section; none only when there were problems.
pub fn read(reader: &mut Reader<'_>, node: &Node) -> Option<Scenario> {
    let known = scenario_settings().into_iter().flat_map(Setting::names);
    let known: Vec<&str> = known.collect();
    let chosen = node
        .get(TYPE.name)
        .and_then(|field| find(field.value.text()?));
    let given = reader.section(node, section("scenario"), &known, |name| {
        let of_chosen = || {
            let own = chosen?.all_settings().chain([&TYPE, &TOOL_CALL]);
            let own: Vec<&str> = own.map(|it| it.name).collect();
            Some(meant(near(&known, name), one_of(&own)))
        };
        advice(name).or_else(of_chosen)
    });
    let Some(entry) = read_type(reader, &given) else {
        for field in given.fields() {
            if let Some(declared) = declared(&field.name).filter(|it| it.name != TYPE.name) {
                declared.kind.check(reader, field);
            }
        }
        return None;
    };
    let mut scenario = Scenario::from((entry.initial)());
    fill(scenario.kind.as_type_mut(), reader, &given);
    read_common(reader, &given, entry, &mut scenario.load);
    check_elsewhere(reader, &given, entry);
    if let (Some(one), Some(other)) = (given.get("rate"), given.get("rate_limit")) {
        let is_first = one.span.start < other.span.start;
        let (earlier, later) = if is_first { (one, other) } else { (other, one) };
        cannot_both(reader, later, &earlier.name);
    }
    let complete = Given { section: &given };
    scenario.kind.as_type_mut().complete(&complete, reader);
    if let Some(field) = given.get(TOOL_CALL.name) {
        scenario.tool_calls = SettingType::read(reader, field, &TOOL_CALL).unwrap_or_default();
    }
    warn_of_unused(reader, &given, &scenario);
    Some(scenario)
}

/// The settings that every load or every scenario has.
fn read_common(
    reader: &mut Reader<'_>,
    given: &Section<'_>,
    entry: &Entry,
    load: &mut LoadSettings,
) {
    for field in given.fields() {
        if entry.common_settings().any(|it| it.name == field.name) {
            mcprove_settings::setting::set(load, reader, field);
        }
    }
}

fn read_type(reader: &mut Reader<'_>, given: &Section<'_>) -> Option<&'static Entry> {
    let Some(field) = given.get(TYPE.name) else {
        let message = sentence!("{} has no {}", section("scenario"), setting(TYPE.name));
        let known = names().join(", ");
        let hint = sentence!(
            "add {}, or one of {known}",
            assignment("type", "\"sustained\"")
        );
        reader.problem(given.span(), message, hint);
        return None;
    };
    if let Some(entry) = field.value.text().and_then(find) {
        return Some(entry);
    }
    reader.choice_of(&field.value, TYPE.name, &names());
    None
}

/// The setting of that name, as the first scenario that has it declares it.
fn declared(name: &str) -> Option<&'static Setting> {
    scenario_settings().into_iter().find(|it| it.has_name(name))
}

fn advice(name: &str) -> Option<Message> {
    match name {
        "tool" | "tools" | "tool_calls" | "args" => Some(sentence!(
            "tools stand in {}, with name and args",
            section("scenario.tool_call[]")
        )),
        "patterns" => Some(sentence!("did you mean {}?", section("scenario.pattern[]"))),
        "kind" | "name" | "scenario" => Some("did you mean \"type\"?".into()),
        "baseline_concurrent" => Some("did you mean \"concurrent\"?".into()),
        "baseline_duration" => Some("did you mean \"duration\"?".into()),
        name => settings::advice(name),
    }
}

/// A setting that the scenario does not have is a problem, or ignored.
fn check_elsewhere(reader: &mut Reader<'_>, given: &Section<'_>, entry: &Entry) {
    for field in given.fields() {
        let is_known = [TYPE.name, TOOL_CALL.name].contains(&field.name.as_str())
            || entry.all_settings().any(|it| it.has_name(&field.name));
        let Some(declared) = declared(&field.name).filter(|_| !is_known) else {
            continue;
        };
        let owners = owners(declared.name).join(", ");
        match declared.elsewhere {
            Elsewhere::Ignored => {
                declared.kind.check(reader, field);
                let message = sentence!(
                    "{} does not use {}, which is for {owners}",
                    entry.name,
                    setting(&field.name)
                );
                reader.warn(&field.span, message);
            }
            refused => {
                let message = sentence!("{} has no setting {}", entry.name, setting(&field.name));
                let hint = match refused {
                    Elsewhere::Instead(table, name) => {
                        sentence!(
                            "{} has {} for every scenario",
                            section(table),
                            setting(name)
                        )
                    }
                    _ => format!("it is for {owners}; leave it out").into(),
                };
                reader.problem(&field.span, message, hint);
            }
        }
    }
}

/// What is given, allowed, and yet without effect.
fn warn_of_unused(reader: &mut Reader<'_>, given: &Section<'_>, scenario: &Scenario) {
    for field in given.fields() {
        let declared = declared(&field.name);
        if declared.is_some_and(|it| !scenario.load.is_used(it)) {
            let message = sentence!(
                "{} does nothing without {}",
                setting(&field.name),
                setting("rate")
            );
            reader.warn(&field.span, message);
        }
    }
    if scenario.has_own_steps()
        && !scenario.tool_calls.is_empty()
        && let Some(field) = given.get(TOOL_CALL.name)
    {
        let message = sentence!(
            "{} does nothing: every pattern has its own steps",
            setting(TOOL_CALL.name)
        );
        reader.warn(&field.span, message);
    }
}
