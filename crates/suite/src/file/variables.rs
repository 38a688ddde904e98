//! The `variables` of a suite: `${name}` stands for the value of `name`, wherever it is in the texts of the
//! file. What is under no `variables` is the environment's, and stays as it is.

use super::SHOWN_MAX;
use crate::prelude::*;

/// The most that variables may add to a file, in bytes.
const FILLED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most variables of one suite.
const VARIABLES_MAX: usize = 1_000;
/// What each value costs besides its text.
const VALUE_BYTES: usize = 32;

/// The variables of a suite.
#[derive(Default)]
pub struct Variables {
    values: BTreeMap<String, Node>,
    /// What is left of [`FILLED_BYTES_MAX`].
    room: usize,
    is_full: bool,
}

/// Whether a text names a variable of either kind, or may be meant to.
pub fn names_one(text: &str) -> bool {
    text.contains("${")
}

/// Makes another tree of one: every text and every key is replaced.
pub trait Rewrite {
    /// What stands for a text; `path` are the keys above it.
    fn text(&mut self, text: &str, span: &Range<usize>, path: &[&str]) -> Data;

    /// What stands for a key.
    fn key(&mut self, field: &Field, _path: &[&str]) -> String {
        field.name.clone()
    }

    /// The tree that stands for this one.
    fn node<'n>(&mut self, node: &'n Node, path: &mut Vec<&'n str>) -> Node {
        let data = match &node.data {
            Data::Text(text) if names_one(text) => self.text(text, &node.span, path),
            Data::List(nodes) => {
                let nodes = nodes.iter().map(|node| self.node(node, path));
                Data::List(nodes.collect())
            }
            Data::Table(fields) => {
                let fields = fields.iter().map(|field| {
                    let name = self.key(field, path);
                    path.push(&field.name);
                    let value = self.node(&field.value, path);
                    path.pop();
                    Field {
                        name,
                        span: field.span.clone(),
                        value,
                    }
                });
                Data::Table(fields.collect())
            }
            other => other.clone(),
        };
        Node {
            data,
            span: node.span.clone(),
        }
    }
}

impl Variables {
    /// Reads the section, if there is one. A variable may name others, but not in a circle.
    pub fn read(reader: &mut Reader<'_>, root: &Node) -> Self {
        let mut variables = Self {
            room: FILLED_BYTES_MAX,
            ..Self::default()
        };
        let Some(field) = root.get("variables") else {
            return variables;
        };
        if !matches!(field.value.data, Data::Table(_) | Data::Null) {
            reader.wrong(field, "a map of values", "write { name: value }");
        }
        let fields = field.value.fields();
        if let Some(field) = fields.get(VARIABLES_MAX) {
            let message = format!("there are more than {VARIABLES_MAX} variables");
            reader.problem(&field.span, message, "leave some out");
            return variables;
        }
        let (named, unnamed): (Vec<&Field>, Vec<&Field>) =
            fields.iter().partition(|field| is_name(&field.name));
        for field in unnamed {
            let name = shorten(&field.name, SHOWN_MAX);
            let message = format!("{name:?} cannot be the name of a variable");
            let hint = sentence!(
                "use the letters A to Z and a to z, digits and `_`, not beginning with a digit"
            );
            reader.problem(&field.span, message, hint);
        }
        variables.settle(reader, named);
        variables
    }

    /// Fills in the variables themselves, whatever their order: first those that name no other that is still
    /// to be filled in. What is left then stands in a circle.
    fn settle(&mut self, reader: &mut Reader<'_>, mut left: Vec<&Field>) {
        while !left.is_empty() {
            let open: BTreeSet<&str> = left.iter().map(|field| field.name.as_str()).collect();
            let (later, ready): (Vec<_>, Vec<_>) = left
                .into_iter()
                .partition(|field| names_any(&field.value, &open));
            if ready.is_empty() {
                for field in &later {
                    let name = shorten(&field.name, SHOWN_MAX);
                    let message = format!("the variable {name:?} is made of itself");
                    let hint = "write out one of the variables that name each other";
                    reader.problem(&field.span, message, hint);
                    self.values.insert(field.name.clone(), field.value.clone());
                }
                return;
            }
            for field in ready {
                let value = self.fill(reader, &field.value);
                self.values.insert(field.name.clone(), value);
            }
            left = later;
        }
    }

    pub fn names(&self) -> Vec<&str> {
        self.values.keys().map(String::as_str).collect()
    }

    /// The same tree with every variable of the suite filled in.
    pub fn fill(&mut self, reader: &mut Reader<'_>, node: &Node) -> Node {
        let mut filling = Filling {
            variables: self,
            reader,
        };
        filling.node(node, &mut Vec::new())
    }
}

struct Filling<'v, 'd> {
    variables: &'v mut Variables,
    reader: &'v mut Reader<'d>,
}

impl Rewrite for Filling<'_, '_> {
    fn text(&mut self, text: &str, span: &Range<usize>, _: &[&str]) -> Data {
        let parts = parts(text);
        // A text that is nothing but a variable takes its value with its type.
        if let [
            Part::Plain(""),
            Part::Variable {
                name, otherwise, ..
            },
            Part::Plain(""),
        ] = parts[..]
            && let Some(value) = self.variables.values.get(name)
        {
            let value = match otherwise {
                Some(otherwise) if is_empty(value) => Node::new(Data::Text(otherwise.to_owned())),
                _ => value.clone(),
            };
            return if self.takes(span, cost(&value)) {
                value.data
            } else {
                Data::Null
            };
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
                } => {
                    let Some(value) = self.variables.values.get(name) else {
                        filled.push_str(whole);
                        continue;
                    };
                    let Some(text) = otherwise
                        .filter(|_| is_empty(value))
                        .map(str::to_owned)
                        .or_else(|| scalar(value))
                    else {
                        let kind = value.kind();
                        let message = format!(
                            "the variable {name:?} is {kind}, which cannot stand within a text"
                        );
                        let hint = format!("write nothing but ${{{name}}} here");
                        self.reader.problem(span, message, hint);
                        continue;
                    };
                    if !self.takes(span, text.len()) {
                        return Data::Null;
                    }
                    filled.push_str(&text);
                }
            }
        }
        Data::Text(filled)
    }
}

impl Filling<'_, '_> {
    /// Whether this much may still be filled in; the first time that it may not is a problem.
    fn takes(&mut self, span: &Range<usize>, bytes: usize) -> bool {
        let variables = &mut *self.variables;
        if let Some(room) = variables.room.checked_sub(bytes) {
            variables.room = room;
            return true;
        }
        if !std::mem::replace(&mut variables.is_full, true) {
            let megabytes = FILLED_BYTES_MAX / 1024 / 1024;
            let message = format!("variables add more than {megabytes} MiB to the file");
            self.reader.problem(
                span,
                message,
                "use shorter values, or use them in fewer places",
            );
        }
        false
    }
}

/// Whether the texts of a value name one of these variables.
fn names_any(node: &Node, names: &BTreeSet<&str>) -> bool {
    let is_named =
        |part: &Part<'_>| matches!(part, Part::Variable { name, .. } if names.contains(name));
    match &node.data {
        Data::Text(text) => parts(text).iter().any(is_named),
        Data::List(nodes) => nodes.iter().any(|node| names_any(node, names)),
        Data::Table(fields) => fields.iter().any(|field| names_any(&field.value, names)),
        _ => false,
    }
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
pub fn is_name(name: &str) -> bool {
    let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    let is_next = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.starts_with(is_first) && name.chars().all(is_next)
}
