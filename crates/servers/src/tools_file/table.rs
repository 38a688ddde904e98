//! A table of a tools file, by the names of its keys, however they are spelled.

use mcprove_settings::reader::{Reader, near};
use mcprove_settings::tree::{Data, Field, Node};
use serde_json::{Map, Value};

use super::keys::{Form, Key, Section, is_same, section};
use crate::mock::template;

/// What becomes of keys that a table does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// They are problems.
    Refused,
    /// They are kept: a recording has what the server sent.
    Kept,
}

/// A table whose keys are known.
pub struct Table<'n> {
    /// How it is called in messages.
    pub label: String,
    /// Where it stands.
    pub node: &'n Node,
    known: Vec<(&'static Key, &'n Field)>,
    others: Vec<&'n Field>,
}

impl<'n> Table<'n> {
    /// Takes a table apart; what is none is a problem, and a key that it does not have.
    pub fn read(
        reader: &mut Reader<'_>,
        node: &'n Node,
        section_name: &str,
        label: impl Into<String>,
    ) -> Option<Self> {
        Self::read_with(reader, node, section_name, label, Unknown::Refused)
    }

    pub fn read_with(
        reader: &mut Reader<'_>,
        node: &'n Node,
        section_name: &str,
        label: impl Into<String>,
        unknown: Unknown,
    ) -> Option<Self> {
        let section = section(section_name);
        let label = label.into();
        let Data::Table(fields) = &node.data else {
            let message = format!("{label} must be a map, not {}", node.kind());
            let hint = format!("its keys are {}", section.names().join(", "));
            reader.problem(&node.span, message, hint);
            return None;
        };
        let mut table = Self {
            label,
            node,
            known: Vec::new(),
            others: Vec::new(),
        };
        for field in fields {
            let mut keys = section.keys.iter();
            match keys.find(|key| is_same(&key.name, &field.name)) {
                Some(key) if table.get(&key.name).is_some() => {
                    let message = format!("`{}` is given twice", key.name);
                    reader.problem(&field.span, message, "leave one of them out");
                }
                Some(key) => table.known.push((key, field)),
                None if unknown == Unknown::Kept => table.others.push(field),
                None => table.refuse(reader, field, section),
            }
        }
        for key in section.keys.iter().filter(|key| key.required) {
            if table.get(&key.name).is_none() {
                let message = format!("{} has no `{}`", table.label, key.name);
                let hint = format!("add `{}: …`: {}", key.name, key.about);
                reader.problem(&node.span, message, hint);
            }
        }
        Some(table)
    }

    fn refuse(&self, reader: &mut Reader<'_>, field: &Field, section: &Section) {
        let names = section.names();
        let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
        let close = near(&lower, &field.name.replace(['_', '-'], ""));
        let close = close.and_then(|close| names.iter().find(|name| name.to_lowercase() == close));
        let hint = match close {
            Some(close) => format!("did you mean {close:?}?"),
            None => format!("known: {}", names.join(", ")),
        };
        reader.unknown_key(field, self.label.clone(), || hint.into());
    }

    /// The entry of this name.
    pub fn get(&self, name: &str) -> Option<&'n Field> {
        let found = self.known.iter().find(|(key, _)| key.name == name);
        found.map(|(_, field)| *field)
    }

    /// The text of this name; what is none, or empty, is a problem.
    pub fn text(&self, reader: &mut Reader<'_>, name: &str) -> Option<String> {
        let field = self.get(name)?;
        let text = self.any_text(reader, name)?;
        if text.trim().is_empty() {
            reader.wrong(
                field,
                "a text that is not empty",
                "write something, or leave it out",
            );
            return None;
        }
        Some(text)
    }

    /// The text of this name, which may be empty. A number will do.
    pub fn any_text(&self, reader: &mut Reader<'_>, name: &str) -> Option<String> {
        let field = self.get(name)?;
        let text = scalar_text(&field.value);
        if text.is_none() {
            reader.wrong(field, "a text", "put it in quotes");
        }
        text
    }

    /// The entries that are listed to clients as they are: all but these.
    pub fn listed(&self, reader: &mut Reader<'_>, but: &[&str]) -> Map<String, Value> {
        let mut listed = Map::new();
        for (key, field) in &self.known {
            if but.contains(&&*key.name) {
                continue;
            }
            let value = match key.form {
                Form::Text => self.text(reader, &key.name).map(Value::String),
                _ => value_of(reader, field, &key.form),
            };
            if let Some(value) = value {
                listed.insert(key.name.clone(), value);
            }
        }
        for field in &self.others {
            if let Some(value) = json(reader, &field.value) {
                listed.insert(field.name.clone(), value);
            }
        }
        listed
    }
}

/// A text, or what YAML takes for something else but is as good as one.
pub fn scalar_text(node: &Node) -> Option<String> {
    match &node.data {
        Data::Text(text) => Some(text.clone()),
        Data::Boolean(_) | Data::Integer(_) | Data::Number(_) => {
            node.to_json().ok().map(|value| value.to_string())
        }
        Data::Null | Data::List(_) | Data::Table(_) => None,
    }
}

fn value_of(reader: &mut Reader<'_>, field: &Field, form: &Form) -> Option<Value> {
    let is_fit = match form {
        Form::Boolean => matches!(field.value.data, Data::Boolean(_)),
        Form::Integer | Form::Count => field.value.integer().is_some(),
        Form::Map | Form::Schema => matches!(field.value.data, Data::Table(_)),
        Form::List => matches!(field.value.data, Data::List(_)),
        _ => true,
    };
    if !is_fit {
        reader.wrong(
            field,
            &format!("a {}", form.describe()),
            "see `mcprove schema mock`",
        );
        return None;
    }
    json(reader, &field.value)
}

/// The value as JSON; what JSON cannot hold is a problem.
pub fn json(reader: &mut Reader<'_>, node: &Node) -> Option<Value> {
    for wrong in node.beyond_json() {
        let message = "JSON has no such number".to_owned();
        let hint = "write one of at most 64 bits, or a text";
        reader.problem(&wrong.span, message, hint);
    }
    node.to_json().ok()
}

/// Takes down every text in a value that is no template; whether there was none.
pub fn check_template(reader: &mut Reader<'_>, node: &Node) -> bool {
    match &node.data {
        Data::Text(text) => match template::check(text) {
            Ok(()) => true,
            Err(error) => {
                let hint = "write ${args.NAME}, or $${ for a ${ that means itself";
                reader.problem(&node.span, error.to_string(), hint);
                false
            }
        },
        // All of them are looked at, not only the first that is wrong.
        Data::List(nodes) => {
            let good = nodes.iter().filter(|node| check_template(reader, node));
            good.count() == nodes.len()
        }
        Data::Table(fields) => {
            let mut is_good = |field: &&Field| check_template(reader, &field.value);
            fields.iter().filter(&mut is_good).count() == fields.len()
        }
        _ => true,
    }
}
