//! Where a suite may name variables of the environment: only where they are filled in when a test runs.
//! Everywhere else they would be taken as they stand, so there they are problems.

use std::collections::BTreeSet;
use std::ops::Range;

use mcprove_settings::reader::{Reader, near};
use mcprove_settings::text::shorten;
use mcprove_settings::tree::{Data, Field, Node};

use super::variables::{Part, Variables, is_name, names_one, parts};
use crate::plan::Environment;

/// How much of a wrong name is repeated in a message.
const SHOWN_MAX: usize = 60;

/// How variables are written.
const WRITE: &str = "write ${NAME} or ${NAME:-otherwise}, the name with letters, digits and `_`; $${ stands for \
                     the characters themselves";
/// What to do about one within another.
const UNNEST: &str = "name the inner one under `variables`, or write out what it stands for";

/// Where texts are filled in when they are used: by section and key.
const FILLED: &[(&str, &[&str])] = &[
    ("servers", &["command", "args", "env", "headers", "url"]),
    ("tools", &["args"]),
    (
        "agents",
        &[
            "command", "args", "env", "system", "prompt", "turns", "provider",
        ],
    ),
    ("defaults", &["system", "provider"]),
];

/// A variable that a text needs, and where the text stands.
pub(super) struct Needed {
    name: String,
    span: Range<usize>,
}

/// The tree ready to be read: texts that are filled in later as they are, all others with `${` for `$${`.
/// What is needed of the environment is added to `needed`.
pub(super) fn settle(reader: &mut Reader<'_>, root: Node, needed: &mut Vec<Needed>) -> Node {
    refuse_in_keys(reader, &root);
    let mut settling = Settling { reader, needed };
    let Data::Table(sections) = root.data else {
        return root;
    };
    let settled = sections.into_iter().map(|section| {
        let filled = FILLED.iter().find(|(name, _)| *name == section.name);
        let value = match section.name.as_str() {
            // Its values were settled wherever they were put; what stands nowhere else must be sound too.
            "variables" => {
                settling.check(&section.value);
                section.value
            }
            "servers" => settling.each(section.value, filled.map_or(&[], |(_, keys)| keys)),
            "tools" | "agents" => {
                settling.each(section.value, filled.map_or(&[], |(_, keys)| keys))
            }
            "defaults" => settling.entry(section.value, filled.map_or(&[], |(_, keys)| keys)),
            "load" => settling.loads(section.value),
            _ => settling.node(section.value, false),
        };
        Field { value, ..section }
    });
    Node {
        data: Data::Table(settled.collect()),
        span: root.span,
    }
}

/// Keys are taken as they stand, wherever they are.
fn refuse_in_keys(reader: &mut Reader<'_>, node: &Node) {
    match &node.data {
        Data::List(nodes) => {
            for node in nodes {
                refuse_in_keys(reader, node);
            }
        }
        Data::Table(fields) => {
            for field in fields {
                let is_plain = |part: &Part<'_>| matches!(part, Part::Plain(_) | Part::Escape);
                if names_one(&field.name) && !parts(&field.name).iter().all(is_plain) {
                    let name = shorten(&field.name, SHOWN_MAX);
                    let message = format!("nothing is filled in in the name of a key: {name:?}");
                    let hint = "write the name out, or $${ for the characters themselves";
                    reader.problem(&field.span, message, hint);
                }
                refuse_in_keys(reader, &field.value);
            }
        }
        _ => {}
    }
}

struct Settling<'r, 'd, 'n> {
    reader: &'r mut Reader<'d>,
    needed: &'n mut Vec<Needed>,
}

impl Settling<'_, '_, '_> {
    /// Every entry of a list or a map.
    fn each(&mut self, node: Node, filled: &[&str]) -> Node {
        let data = match node.data {
            Data::List(nodes) => {
                let settled = nodes.into_iter().map(|node| self.entry(node, filled));
                Data::List(settled.collect())
            }
            Data::Table(fields) => {
                let settled = fields.into_iter().map(|field| Field {
                    value: self.entry(field.value, filled),
                    name: field.name,
                    span: field.span,
                });
                Data::Table(settled.collect())
            }
            other => other,
        };
        Node { data, ..node }
    }

    /// Every load: the arguments of its calls are filled in later.
    fn loads(&mut self, node: Node) -> Node {
        let Data::List(loads) = node.data else {
            return self.node(node, false);
        };
        let loads = loads.into_iter().map(|load| {
            self.inside(load, &["scenario"], |settling, scenario| {
                settling.inside(scenario, &["tool_call", "pattern"], |settling, calls| {
                    settling.calls(calls)
                })
            })
        });
        Node {
            data: Data::List(loads.collect()),
            span: node.span,
        }
    }

    /// The calls of a load, or its patterns, whose steps are calls.
    fn calls(&mut self, node: Node) -> Node {
        let Data::List(calls) = node.data else {
            return self.node(node, false);
        };
        let calls = calls.into_iter().map(|call| {
            self.entries(call, &mut |settling, field| match field.name.as_str() {
                "args" => settling.node(field.value, true),
                "steps" => settling.each(field.value, &["args"]),
                _ => settling.node(field.value, false),
            })
        });
        Node {
            data: Data::List(calls.collect()),
            span: node.span,
        }
    }

    /// A map with entries that are settled in a way of their own.
    fn inside(
        &mut self,
        node: Node,
        keys: &[&str],
        settle: impl Fn(&mut Self, Node) -> Node,
    ) -> Node {
        self.entries(node, &mut |settling, field| {
            if keys.contains(&field.name.replace('-', "_").as_str()) {
                settle(settling, field.value)
            } else {
                settling.node(field.value, false)
            }
        })
    }

    /// A map, each of whose entries is settled so.
    fn entries(&mut self, node: Node, settle: &mut dyn FnMut(&mut Self, Field) -> Node) -> Node {
        let Data::Table(fields) = node.data else {
            return self.node(node, false);
        };
        let settled = fields.into_iter().map(|field| Field {
            name: field.name.clone(),
            span: field.span.clone(),
            value: settle(self, field),
        });
        Node {
            data: Data::Table(settled.collect()),
            span: node.span,
        }
    }

    /// A map, some of whose entries are filled in later.
    fn entry(&mut self, node: Node, filled: &[&str]) -> Node {
        self.entries(node, &mut |settling, field| {
            let is_filled = filled.contains(&field.name.as_str());
            settling.node(field.value, is_filled)
        })
    }

    fn node(&mut self, node: Node, is_filled: bool) -> Node {
        let data = match node.data {
            Data::Text(text) if names_one(&text) => {
                Data::Text(self.text(text, &node.span, is_filled))
            }
            Data::List(nodes) => {
                let settled = nodes.into_iter().map(|node| self.node(node, is_filled));
                Data::List(settled.collect())
            }
            Data::Table(fields) => {
                let settled = fields.into_iter().map(|field| Field {
                    value: self.node(field.value, is_filled),
                    // Nobody fills in keys later.
                    name: field.name.replace("$${", "${"),
                    span: field.span,
                });
                Data::Table(settled.collect())
            }
            other => other,
        };
        Node { data, ..node }
    }

    /// Tells what is written wrong in the texts of a value.
    fn check(&mut self, node: &Node) {
        match &node.data {
            Data::Text(text) => {
                for part in parts(text) {
                    self.check_part(&part, &node.span);
                }
            }
            Data::List(nodes) => nodes.iter().for_each(|node| self.check(node)),
            Data::Table(fields) => {
                for field in fields {
                    self.check(&field.value);
                }
            }
            _ => {}
        }
    }

    /// Whether a part of a text is written as it must be; what is not is told.
    fn check_part(&mut self, part: &Part<'_>, span: &Range<usize>) -> bool {
        let (message, hint) = match part {
            Part::Variable { name, .. } if !is_name(name) => {
                let name = shorten(name, SHOWN_MAX);
                (format!("`${{…}}` names no variable: {name:?}"), WRITE)
            }
            Part::Open(_) => ("`${` has no end".to_owned(), WRITE),
            Part::Nested(whole) => {
                let whole = shorten(whole, SHOWN_MAX);
                let message = format!("a variable cannot stand within a variable: {whole:?}");
                (message, UNNEST)
            }
            _ => return true,
        };
        self.reader.problem(span, message, hint);
        false
    }

    fn text(&mut self, text: String, span: &Range<usize>, is_filled: bool) -> String {
        let mut settled = String::new();
        for part in parts(&text) {
            let is_sound = self.check_part(&part, span);
            match part {
                Part::Plain(text) | Part::Open(text) | Part::Nested(text) => settled.push_str(text),
                Part::Escape => settled.push_str("${"),
                Part::Variable { whole, .. } if !is_sound => settled.push_str(whole),
                Part::Variable {
                    name,
                    whole,
                    otherwise,
                } => {
                    settled.push_str(whole);
                    if is_filled && otherwise.is_none() {
                        self.needed.push(Needed {
                            name: name.to_owned(),
                            span: span.clone(),
                        });
                    } else if !is_filled {
                        let name = shorten(name, SHOWN_MAX);
                        let message =
                            format!("nothing is filled in here from the environment: {name:?}");
                        let hint = "name it under `variables`, or write $${ for the characters \
                                    themselves";
                        self.reader.problem(span, message, hint);
                    }
                }
            }
        }
        if is_filled { text } else { settled }
    }
}

/// Warns of what is needed and not there.
pub(super) fn warn_of_unset(
    reader: &mut Reader<'_>,
    needed: &[Needed],
    variables: &Variables,
    environment: &Environment,
) {
    let mut seen = BTreeSet::new();
    for Needed { name, span } in needed {
        if !seen.insert(name) || environment.get(name).is_some() {
            continue;
        }
        let mut message = format!(
            "the variable {:?} is neither under `variables` nor in the environment",
            shorten(name, SHOWN_MAX)
        );
        if let Some(close) = near(&variables.names(), name) {
            message = format!("{message}; did you mean {close:?}?");
        }
        reader.warn(span, message);
    }
}
