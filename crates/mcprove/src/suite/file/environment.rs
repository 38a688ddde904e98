//! Where a suite may name variables of the environment: only where they are filled in when a test runs.
//! Everywhere else they would be taken as they stand, so there they are problems.

use std::collections::BTreeSet;
use std::ops::Range;

use super::variables::{Part, Variables, is_name, names_one, parts};
use crate::suite::document::{Data, Field, Node};
use crate::suite::plan::Environment;
use crate::suite::reader::{Reader, near};
use crate::text::shorten;

/// How much of a wrong name is repeated in a message.
const SHOWN_MAX: usize = 60;

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
    let mut settling = Settling { reader, needed };
    let Data::Table(sections) = root.data else {
        return root;
    };
    let settled = sections.into_iter().map(|section| {
        let filled = FILLED.iter().find(|(name, _)| *name == section.name);
        let value = match section.name.as_str() {
            // Its values were settled wherever they were put.
            "variables" => section.value,
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
            self.inside(load, "scenario", |settling, scenario| {
                settling.inside(scenario, "tool_call", |settling, calls| {
                    settling.each(calls, &["args"])
                })
            })
        });
        Node {
            data: Data::List(loads.collect()),
            span: node.span,
        }
    }

    /// A map with one entry that is settled in a way of its own.
    fn inside(&mut self, node: Node, key: &str, settle: impl Fn(&mut Self, Node) -> Node) -> Node {
        let Data::Table(fields) = node.data else {
            return self.node(node, false);
        };
        let settled = fields.into_iter().map(|field| Field {
            value: if field.name.replace('-', "_") == key {
                settle(self, field.value)
            } else {
                self.node(field.value, false)
            },
            name: field.name,
            span: field.span,
        });
        Node {
            data: Data::Table(settled.collect()),
            span: node.span,
        }
    }

    /// A map, some of whose entries are filled in later.
    fn entry(&mut self, node: Node, filled: &[&str]) -> Node {
        let Data::Table(fields) = node.data else {
            return self.node(node, false);
        };
        let settled = fields.into_iter().map(|field| {
            let is_filled = filled.contains(&field.name.as_str());
            Field {
                value: self.node(field.value, is_filled),
                name: field.name,
                span: field.span,
            }
        });
        Node {
            data: Data::Table(settled.collect()),
            span: node.span,
        }
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
                    name: field.name,
                    span: field.span,
                });
                Data::Table(settled.collect())
            }
            other => other,
        };
        Node { data, ..node }
    }

    fn text(&mut self, text: String, span: &Range<usize>, is_filled: bool) -> String {
        let mut settled = String::new();
        for part in parts(&text) {
            match part {
                Part::Plain(plain) => settled.push_str(plain),
                Part::Escape => settled.push_str("${"),
                Part::Open(_) if is_filled => {
                    let message = "`${` has no end".to_owned();
                    let hint = "write ${NAME}, or $${ for the characters themselves";
                    self.reader.problem(span, message, hint);
                }
                Part::Open(open) => settled.push_str(open),
                Part::Variable {
                    name,
                    whole,
                    has_otherwise,
                } => {
                    settled.push_str(whole);
                    if !is_name(name) {
                        let name = shorten(name, SHOWN_MAX);
                        let message = format!("`${{…}}` names no variable: {name:?}");
                        let hint = "write ${NAME} with letters, digits and `_`, or $${ for the \
                                    characters themselves";
                        self.reader.problem(span, message, hint);
                    } else if is_filled && !has_otherwise {
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
        reader.warn(span, &message);
    }
}
