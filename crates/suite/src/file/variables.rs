//! The `variables` of a suite: `${name}` stands for the value of `name`, wherever it is in the texts of the
//! file. What is under no `variables` is the environment's, and stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use mcprove_settings::reader::Reader;
use mcprove_settings::text::shorten;
use mcprove_settings::tree::{Data, Field, Node};

use super::limits::{FILLED_BYTES_MAX, VARIABLES_MAX};

/// What each value costs besides its text.
const VALUE_BYTES: usize = 32;
/// How much of a wrong name is repeated in a message.
const SHOWN_MAX: usize = 60;

/// The variables of a suite.
#[derive(Default)]
pub(super) struct Variables {
    values: BTreeMap<String, Node>,
    /// What is left of [`FILLED_BYTES_MAX`].
    room: usize,
    is_full: bool,
}

/// A part of a text.
pub(super) enum Part<'t> {
    /// As it stands.
    Plain(&'t str),
    /// `$${`, which stands for `${`.
    Escape,
    /// `${name}`, or `${name:-otherwise}`.
    Variable {
        name: &'t str,
        whole: &'t str,
        otherwise: Option<&'t str>,
    },
    /// `${name:-${other}}`: a variable within a variable, which nobody fills in.
    Nested(&'t str),
    /// `${` without an end, and everything after it.
    Open(&'t str),
}

/// The parts of a text.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find("${") {
        let (before, after) = rest.split_at(begin);
        let inside = after.strip_prefix("${").unwrap_or_default();
        if let Some(before) = before.strip_suffix('$') {
            parts.push(Part::Plain(before));
            parts.push(Part::Escape);
            rest = inside;
            continue;
        }
        parts.push(Part::Plain(before));
        let Some((variable, behind)) = inside.split_once('}') else {
            parts.push(Part::Open(after));
            return parts;
        };
        if variable.contains("${") {
            let end = end_of_nested(after);
            let (whole, behind) = after.split_at_checked(end).unwrap_or((after, ""));
            parts.push(Part::Nested(whole));
            rest = behind;
            continue;
        }
        let (name, otherwise) = match variable.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (variable, None),
        };
        let whole = after.strip_suffix(behind).unwrap_or(after);
        parts.push(Part::Variable {
            name,
            whole,
            otherwise,
        });
        rest = behind;
    }
    parts.push(Part::Plain(rest));
    parts
}

/// Where a text that begins with a variable within a variable has closed all of them; its whole length where
/// it does not.
fn end_of_nested(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (index, character) in text.char_indices() {
        match character {
            '{' if before == '$' => depth += 1,
            '}' if depth == 1 => return index + 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = character;
    }
    text.len()
}

/// Whether a text names a variable of either kind, or may be meant to.
pub(super) fn names_one(text: &str) -> bool {
    text.contains("${")
}

impl Variables {
    /// Reads the section, if there is one. A variable may name others, but not in a circle.
    pub(super) fn read(reader: &mut Reader<'_>, root: &Node) -> Self {
        let mut variables = Self {
            room: FILLED_BYTES_MAX,
            ..Self::default()
        };
        let Data::Table(top) = &root.data else {
            return variables;
        };
        let Some(field) = top.iter().find(|field| field.name == "variables") else {
            return variables;
        };
        let fields: &[Field] = match &field.value.data {
            Data::Table(fields) => fields,
            Data::Null => &[],
            _ => {
                reader.wrong(field, "a map of values", "write { name: value }");
                &[]
            }
        };
        if let Some(field) = fields.get(VARIABLES_MAX) {
            let message = format!("there are more than {VARIABLES_MAX} variables");
            reader.problem(&field.span, message, "leave some out");
            return variables;
        }
        for field in fields.iter().filter(|field| !is_name(&field.name)) {
            let name = shorten(&field.name, SHOWN_MAX);
            let message = format!("{name:?} cannot be the name of a variable");
            let hint =
                "use the letters A to Z and a to z, digits and `_`, not beginning with a digit";
            reader.problem(&field.span, message, hint);
        }
        variables.settle(reader, fields);
        variables
    }

    /// Fills in the variables themselves, whatever their order: first those that name no other that is still
    /// to be filled in. What is left then stands in a circle.
    fn settle(&mut self, reader: &mut Reader<'_>, fields: &[Field]) {
        let mut left: Vec<(&Field, BTreeSet<String>)> = fields
            .iter()
            .filter(|field| is_name(&field.name))
            .map(|field| {
                let mut named = BTreeSet::new();
                add_named(&field.value, &mut named);
                (field, named)
            })
            .collect();
        while !left.is_empty() {
            let open: BTreeSet<String> = left.iter().map(|(field, _)| field.name.clone()).collect();
            let (later, ready): (Vec<_>, Vec<_>) = left
                .into_iter()
                .partition(|(_, named)| !named.is_disjoint(&open));
            if ready.is_empty() {
                for (field, _) in &later {
                    let name = shorten(&field.name, SHOWN_MAX);
                    let message = format!("the variable {name:?} is made of itself");
                    let hint = "write out one of the variables that name each other";
                    reader.problem(&field.span, message, hint);
                    self.values.insert(field.name.clone(), field.value.clone());
                }
                return;
            }
            for (field, _) in ready {
                let value = self.fill(reader, &field.value);
                self.values.insert(field.name.clone(), value);
            }
            left = later;
        }
    }

    /// The names that there are.
    pub(super) fn names(&self) -> Vec<&str> {
        self.values.keys().map(String::as_str).collect()
    }

    /// The same tree with every variable of the suite filled in.
    pub(super) fn fill(&mut self, reader: &mut Reader<'_>, node: &Node) -> Node {
        let data = match &node.data {
            Data::Text(text) if names_one(text) => return self.fill_text(reader, node, text),
            Data::List(nodes) => {
                let filled = nodes.iter().map(|node| self.fill(reader, node));
                Data::List(filled.collect())
            }
            Data::Table(fields) => {
                let filled = fields.iter().map(|field| Field {
                    name: field.name.clone(),
                    span: field.span.clone(),
                    value: self.fill(reader, &field.value),
                });
                Data::Table(filled.collect())
            }
            other => other.clone(),
        };
        Node {
            data,
            span: node.span.clone(),
        }
    }

    fn fill_text(&mut self, reader: &mut Reader<'_>, node: &Node, text: &str) -> Node {
        let at_place = |data: Data| Node {
            data,
            span: node.span.clone(),
        };
        let parts = parts(text);
        // A text that is nothing but a variable takes its value with its type.
        if let [
            Part::Plain(""),
            Part::Variable {
                name, otherwise, ..
            },
            Part::Plain(""),
        ] = parts[..]
            && let Some(value) = self.values.get(name)
        {
            let value = match otherwise {
                Some(otherwise) if is_empty(value) => at_place(Data::Text(otherwise.to_owned())),
                _ => value.clone(),
            };
            if !self.takes(reader, node, cost(&value)) {
                return at_place(Data::Null);
            }
            return at_place(value.data);
        }
        let mut filled = String::new();
        for part in parts {
            match part {
                Part::Plain(text) | Part::Open(text) | Part::Nested(text) => filled.push_str(text),
                Part::Escape => filled.push_str("$${"),
                Part::Variable {
                    name,
                    whole,
                    otherwise,
                } => match self.values.get(name) {
                    None => filled.push_str(whole),
                    Some(value) => {
                        let otherwise = otherwise.filter(|_| is_empty(value));
                        let text = otherwise.map(str::to_owned).or_else(|| scalar(value));
                        let Some(value) = text else {
                            refuse_within(reader, node, name, value.kind());
                            continue;
                        };
                        if !self.takes(reader, node, value.len()) {
                            return at_place(Data::Null);
                        }
                        filled.push_str(&value);
                    }
                },
            }
        }
        at_place(Data::Text(filled))
    }

    /// Whether this much may still be filled in; the first time that it may not is a problem.
    fn takes(&mut self, reader: &mut Reader<'_>, node: &Node, bytes: usize) -> bool {
        if let Some(room) = self.room.checked_sub(bytes) {
            self.room = room;
            return true;
        }
        if !self.is_full {
            self.is_full = true;
            let megabytes = FILLED_BYTES_MAX / 1024 / 1024;
            let message = format!("variables add more than {megabytes} MiB to the file");
            reader.problem(&node.span, message, "let them stand for less");
        }
        false
    }
}

/// Adds the names of the variables that the texts of a value name.
fn add_named(node: &Node, names: &mut BTreeSet<String>) {
    match &node.data {
        Data::Text(text) => {
            for part in parts(text) {
                if let Part::Variable { name, .. } = part {
                    names.insert(name.to_owned());
                }
            }
        }
        Data::List(nodes) => nodes.iter().for_each(|node| add_named(node, names)),
        Data::Table(fields) => {
            for field in fields {
                add_named(&field.value, names);
            }
        }
        _ => {}
    }
}

/// What is no text, number or boolean cannot be a part of a text.
fn refuse_within(reader: &mut Reader<'_>, node: &Node, name: &str, kind: &str) {
    let message = format!("the variable {name:?} is {kind}, which cannot stand within a text");
    let hint = format!("write nothing but ${{{name}}} here");
    reader.problem(&node.span, message, hint);
}

/// What a value takes, about.
fn cost(node: &Node) -> usize {
    let within = match &node.data {
        Data::Text(text) => text.len(),
        Data::List(nodes) => nodes.iter().map(cost).sum(),
        Data::Table(fields) => fields
            .iter()
            .map(|field| field.name.len() + cost(&field.value))
            .sum(),
        _ => 0,
    };
    VALUE_BYTES + within
}

/// A value as a part of a text.
fn scalar(node: &Node) -> Option<String> {
    match &node.data {
        Data::Text(text) => Some(text.clone()),
        Data::Boolean(value) => Some(value.to_string()),
        Data::Integer(value) => Some(value.to_string()),
        Data::Number(value) => Some(value.to_string()),
        Data::Null | Data::List(_) | Data::Table(_) => None,
    }
}

/// Whether `${name:-otherwise}` takes what stands after `:-`, as shells do.
fn is_empty(value: &Node) -> bool {
    match &value.data {
        Data::Null => true,
        Data::Text(text) => text.is_empty(),
        _ => false,
    }
}

/// Whether a variable can have this name.
pub(super) fn is_name(name: &str) -> bool {
    let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    let is_next = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.starts_with(is_first) && name.chars().all(is_next)
}
