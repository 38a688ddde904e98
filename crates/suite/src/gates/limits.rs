//! The blocks about what may be called, and how often: `permissions` and `call_limits`.

use std::collections::BTreeMap;

use mcprove_score::agent::call_limits::{CallLimitsBlock, Limit};
use mcprove_score::agent::permissions::{PermissionsBlock, Rule};
use mcprove_score::gate::{Gates, Matcher, Path};
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::table::{self, name_of, required};
use mcprove_settings::tree::{Data, Field, Node};

use super::expectation::{expectations, matcher};
use super::keys::{self, COUNT_MAX, LIMIT, RULE};

pub(super) fn permissions(reader: &mut Reader<'_>, section: &Section<'_>, gates: &mut Gates) {
    gates.permissions = Some(PermissionsBlock {
        allow: rules(reader, section, "allow"),
        deny: rules(reader, section, "deny").unwrap_or_default(),
        expect: expectations(reader, section),
    });
}

/// The rules of a list; `None` where it is not given.
fn rules(reader: &mut Reader<'_>, section: &Section<'_>, list: &str) -> Option<Vec<Rule>> {
    let field = section.get(list)?;
    let hint = "write a name, or { tool: …, args: … }, for each; [] for none";
    let mut rules = Vec::new();
    for node in reader.list(field, hint) {
        rules.extend(rule(reader, node, list));
    }
    Some(rules)
}

/// A rule: the name of a tool, or with its server and what its arguments must be.
fn rule(reader: &mut Reader<'_>, node: &Node, list: &str) -> Option<Rule> {
    if matches!(node.data, Data::Text(_)) {
        return Some(Rule {
            tool: name_of(reader, node, list)?,
            server: None,
            args: BTreeMap::new(),
        });
    }
    let known = keys::names(RULE);
    let node = table::spelled(reader, node, "a rule", &known)?;
    let section = table::section(reader, &node, "a rule", &known);
    let tool = required(reader, &section, "tool");
    let server = reader.text(&section, "server").map(str::to_owned);
    let args = match section.get("args") {
        Some(field) => predicates(reader, field)?,
        None => BTreeMap::new(),
    };
    Some(Rule {
        tool: tool?,
        server,
        args,
    })
}

/// Matchers by the path of the argument that they are about.
fn predicates(reader: &mut Reader<'_>, field: &Field) -> Option<BTreeMap<String, Matcher>> {
    let Data::Table(fields) = &field.value.data else {
        let hint = "write { path: { starts_with: /tmp/ } }";
        reader.wrong(field, "a map of matchers by argument", hint);
        return None;
    };
    let mut predicates = BTreeMap::new();
    let mut is_usable = true;
    for field in fields {
        if let Err(error) = Path::parse(&field.name) {
            let message = format!("{:?} is no path: {error}", field.name);
            reader.problem(&field.span, message, error.hint());
            is_usable = false;
        }
        match matcher(reader, &field.value) {
            Some(matcher) => {
                predicates.insert(field.name.clone(), matcher);
            }
            None => is_usable = false,
        }
    }
    is_usable.then_some(predicates)
}

pub(super) fn call_limits(reader: &mut Reader<'_>, section: &Section<'_>, gates: &mut Gates) {
    let mut tools = BTreeMap::new();
    if let Some(field) = section.get("tools") {
        if let Data::Table(fields) = &field.value.data {
            for tool in fields {
                if let Some(limit) = limit(reader, tool) {
                    tools.insert(tool.name.clone(), limit);
                }
            }
        } else {
            let hint = "write { search: 3, write: { min: 1, max: 1 } }";
            reader.wrong(field, "a map of limits by tool", hint);
        }
    }
    gates.call_limits = Some(CallLimitsBlock {
        total: section.get("total").and_then(|field| limit(reader, field)),
        tools,
        expect: expectations(reader, section),
    });
}

/// A limit: the most calls, or the least and the most.
fn limit(reader: &mut Reader<'_>, field: &Field) -> Option<Limit> {
    let hint = "write 3 for at most three, or { min: 1, max: 3 }";
    match (&field.value.data, field.value.integer()) {
        (Data::Table(_), _) => {}
        (_, Some(value)) => {
            let most = u64::try_from(value).ok().filter(|most| *most <= COUNT_MAX);
            if most.is_none() {
                let expected = format!("a whole number from 0 to {COUNT_MAX}");
                reader.wrong(field, &expected, hint);
            }
            return most.map(|most| Limit {
                min: None,
                max: Some(most),
            });
        }
        _ => {
            reader.wrong(field, "a number of calls, or a map of min and max", hint);
            return None;
        }
    }
    let known = keys::names(LIMIT);
    let node = table::spelled(reader, &field.value, "a limit", &known)?;
    let section = table::section(reader, &node, "a limit", &known);
    let min = reader.integer(&section, "min", 0..=COUNT_MAX);
    let max = reader.integer(&section, "max", 0..=COUNT_MAX);
    if section.fields().is_empty() {
        let message = format!("the limit `{}` has neither `min` nor `max`", field.name);
        reader.problem(&field.value.span, message, hint);
        return None;
    }
    if let (Some(least), Some(most)) = (min, max)
        && least > most
    {
        let message = format!("`min` {least} is more than `max` {most}");
        reader.problem(&field.value.span, message, "swap them, or mend one");
        return None;
    }
    Some(Limit { min, max })
}
