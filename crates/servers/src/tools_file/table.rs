//! A table of a tools file, by the names of its keys, however they are spelled.

use mcprove_settings::message::Message;
use mcprove_settings::reader::{meant, near};

use super::keys::{Key, Section, is_same, section};
use crate::prelude::*;

/// A table whose keys are known.
pub struct Table<'n> {
    /// How it is called in messages.
    pub label: Message,
    /// Where it stands.
    pub node: &'n Node,
    known: Vec<(&'static Key, &'n Field)>,
    others: Vec<&'n Field>,
    section: &'static Section,
}

impl<'n> Table<'n> {
    /// Takes a table apart; what is none is a problem, and a key that it does not have.
    pub fn read(
        reader: &mut Reader<'_>,
        node: &'n Node,
        section_name: &str,
        label: impl Into<Message>,
    ) -> Option<Self> {
        let table = Self::read_recorded(reader, node, section_name, label.into())?;
        for field in &table.others {
            table.refuse(reader, field);
        }
        Some(table)
    }

    /// The same, where keys that it does not have are kept: a recording has what the server sent.
    pub fn read_recorded(
        reader: &mut Reader<'_>,
        node: &'n Node,
        section_name: &str,
        label: Message,
    ) -> Option<Self> {
        let section = section(section_name);
        let Data::Table(fields) = &node.data else {
            let message = sentence!("{label} must be a map, not {}", node.kind());
            let hint = format!("its keys are {}", section.names().join(", "));
            reader.problem(&node.span, message, hint);
            return None;
        };
        let mut table = Self {
            label,
            node,
            known: Vec::new(),
            others: Vec::new(),
            section,
        };
        for field in fields {
            let mut keys = section.keys.iter();
            match keys.find(|key| is_same(&key.name, &field.name)) {
                Some(key) if table.get(&key.name).is_some() => {
                    let message = format!("`{}` is given twice", key.name);
                    reader.problem(&field.span, message, "leave one of them out");
                }
                Some(key) => table.known.push((key, field)),
                None => table.others.push(field),
            }
        }
        for key in section.keys.iter().filter(|key| key.required) {
            if table.get(&key.name).is_none() {
                let message = sentence!("{} has no `{}`", table.label, key.name);
                let hint = format!("add `{}: …`: {}", key.name, key.about);
                reader.problem(&node.span, message, hint);
            }
        }
        Some(table)
    }

    fn refuse(&self, reader: &mut Reader<'_>, field: &Field) {
        let names = self.section.names();
        let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
        let close = near(&lower, &field.name.replace(['_', '-'], ""));
        let close = close.and_then(|close| names.iter().find(|name| name.to_lowercase() == close));
        let hint = meant(close, format!("known: {}", names.join(", ")));
        reader.unknown_key(field, self.label.clone(), || hint);
    }

    /// The entry of this name.
    pub fn get(&self, name: &str) -> Option<&'n Field> {
        self.known
            .iter()
            .find(|(key, _)| key.name == name)
            .map(|(_, field)| *field)
    }

    /// The text of this name; what is none, or empty, is a problem.
    pub fn text(&self, reader: &mut Reader<'_>, name: &str) -> Option<String> {
        let text = self.any_text(reader, name)?;
        if text.trim().is_empty() {
            let expected = "a text that is not empty";
            reader.wrong(
                self.get(name)?,
                expected,
                "write something, or leave it out",
            );
            return None;
        }
        Some(text)
    }

    /// The text of this name, which may be empty. A number is accepted.
    pub fn any_text(&self, reader: &mut Reader<'_>, name: &str) -> Option<String> {
        let field = self.get(name)?;
        let text = scalar_text(&field.value);
        if text.is_none() {
            reader.wrong(field, "a text", "put it in quotes");
        }
        text
    }

    /// The entries that are listed to clients as they are: all but these.
    pub fn listed(&self, reader: &mut Reader<'_>, but: &[&str]) -> Fields {
        let mut listed = Map::new();
        for (key, field) in &self.known {
            if !but.contains(&&*key.name)
                && let Some(value) = self.value(reader, key, field)
            {
                listed.insert(key.name.clone(), value);
            }
        }
        let others = self.others.iter();
        listed.extend(
            others.filter_map(|field| Some((field.name.clone(), json(reader, &field.value)?))),
        );
        listed
    }

    fn value(&self, reader: &mut Reader<'_>, key: &Key, field: &Field) -> Option<Value> {
        let (form, data) = (key.form(), &field.value.data);
        let is_fit = match form.schema["type"].as_str() {
            Some("boolean") => matches!(data, Data::Boolean(_)),
            Some("integer") => field.value.integer().is_some(),
            Some("object") => matches!(data, Data::Table(_)),
            Some("array") => matches!(data, Data::List(_)),
            _ if form.words == "text" => return self.text(reader, &key.name).map(Value::String),
            _ => true,
        };
        if !is_fit {
            let expected = format!("a {}", form.words);
            reader.wrong(field, &expected, command("see ", "schema mock", ""));
            return None;
        }
        json(reader, &field.value)
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

/// The value as JSON; what JSON cannot hold is a problem.
pub fn json(reader: &mut Reader<'_>, node: &Node) -> Option<Value> {
    for wrong in node.beyond_json() {
        let hint = "write one of at most 64 bits, or a text";
        reader.problem(&wrong.span, "JSON has no such number", hint);
    }
    node.to_json().ok()
}

/// Takes down every text in a value that is no template.
pub fn check_template(reader: &mut Reader<'_>, node: &Node) {
    if let Some(Err(error)) = node.text().map(template::check) {
        let hint = "write ${args.NAME}, or $${ for a ${ that means itself";
        reader.problem(&node.span, error.to_string(), hint);
    }
    let fields = node.fields().iter().map(|field| &field.value);
    for inner in node.elements().iter().chain(fields) {
        check_template(reader, inner);
    }
}
