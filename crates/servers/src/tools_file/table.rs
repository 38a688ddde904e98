//! A table of a tools file, by the names of its keys, however they are spelled.

use mcprove_settings::message::Message;
use mcprove_settings::table::spelled;

use super::keys::{Section, is_same, section};
use crate::prelude::*;

/// A table whose keys are known.
pub struct Table {
    /// How it is called in messages.
    pub label: Message,
    /// What it holds, with its keys as they are declared.
    pub node: Node,
    section: &'static Section,
}

impl Table {
    /// Takes a table apart; what is none is a problem, and a key that it does not have.
    pub fn read(
        reader: &mut Reader<'_>,
        node: &Node,
        section_name: &str,
        label: impl Into<Message>,
    ) -> Option<Self> {
        Self::read_listed(reader, node, section_name, label.into(), false)
    }

    /// The same; keys that it does not have are kept where it is recorded, as the server sent it.
    pub fn read_listed(
        reader: &mut Reader<'_>,
        node: &Node,
        section_name: &str,
        label: Message,
        is_recorded: bool,
    ) -> Option<Self> {
        let section = section(section_name);
        let mut known = section.names();
        let node = spelled(reader, &as_declared(node, &known), &label, &known)?;
        if is_recorded {
            known.extend(node.fields().iter().map(|field| &*field.name));
        }
        let fields = reader.section(&node, label.clone(), &known, |_| None);
        for key in section.keys.iter().filter(|key| key.required) {
            if fields.get(&key.name).is_none() {
                reader.missing(&fields, &key.name, "…");
            }
        }
        Some(Self {
            label,
            node,
            section,
        })
    }

    /// The entry of this name.
    pub fn get(&self, name: &str) -> Option<&Field> {
        self.node.get(name)
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
        let fields = self.node.fields().iter();
        fields
            .filter(|field| !but.contains(&&*field.name))
            .filter_map(|field| Some((field.name.clone(), self.value(reader, field)?)))
            .collect()
    }

    fn value(&self, reader: &mut Reader<'_>, field: &Field) -> Option<Value> {
        let mut keys = self.section.keys.iter();
        let Some(key) = keys.find(|key| key.name == field.name) else {
            return reader.json_of(&field.value);
        };
        let is_fit = match (&*key.form, &field.value.data) {
            ("text", _) => return self.text(reader, &field.name).map(Value::String),
            ("boolean", data) => matches!(data, Data::Boolean(_)),
            ("integer", _) => field.value.integer().is_some(),
            ("map" | "schema", data) => matches!(data, Data::Table(_)),
            ("list", data) => matches!(data, Data::List(_)),
            _ => true,
        };
        if !is_fit {
            let expected = format!("a {}", key.form().words);
            reader.wrong(field, &expected, command("see ", "schema mock", ""));
            return None;
        }
        reader.json_of(&field.value)
    }
}

/// A table with its keys as they are declared, however they are spelled.
fn as_declared(node: &Node, names: &[&str]) -> Node {
    let mut node = node.clone();
    if let Data::Table(fields) = &mut node.data {
        for field in fields {
            if let Some(name) = names.iter().find(|name| is_same(name, &field.name)) {
                field.name = (*name).to_owned();
            }
        }
    }
    node
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
