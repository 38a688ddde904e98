//! Every key of a tools file: what it takes and what it does, as `keys.json` declares them. The reader, the JSON Schema
//! `mock.v1` and the table in the documents are made from these.
//!
//! The schema cannot say all that the reader checks (what is a template, that schemas compile), and knows the spellings
//! of the protocol and with `_`.

use crate::prelude::*;

/// Every key there is.
pub static KEYS: LazyLock<Keys> =
    LazyLock::new(|| serde_json::from_str(include_str!("keys.json")).expect("our own file"));

/// The tables of a tools file, and what their keys take.
#[derive(Debug, Deserialize)]
pub struct Keys {
    forms: BTreeMap<String, Form>,
    /// Every table, those that are explained first.
    pub sections: Vec<Section>,
}

/// A table of a tools file.
#[derive(Debug, Deserialize)]
pub struct Section {
    /// Its name in the JSON Schema.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    pub keys: Vec<Key>,
}

/// A key of a table.
#[derive(Debug, Deserialize)]
pub struct Key {
    /// The name, as the protocol spells it; `_`, `-` and small letters are accepted too.
    pub name: String,
    /// The name of its form.
    pub form: String,
    /// Whether it must be there.
    #[serde(default)]
    pub required: bool,
    /// What it does.
    pub about: String,
}

/// What a key takes.
#[derive(Debug, Deserialize)]
pub struct Form {
    /// For people.
    pub words: String,
    pub schema: Value,
}

impl Key {
    /// What it takes.
    pub fn form(&self) -> &'static Form {
        &KEYS.forms[&self.form]
    }
}

/// The table of this name.
pub(super) fn section(name: &str) -> &'static Section {
    let mut sections = KEYS.sections.iter();
    sections
        .find(|section| section.name == name)
        .expect("our own file has it")
}

/// The schema of a tools file, for editors and other programs.
pub fn schema() -> Value {
    let file = json!({ "$ref": "#/$defs/file" });
    let tables = KEYS.sections.iter();
    let tables = tables.map(|section| (section.name.clone(), section.schema()));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tools file",
        "description": "What a mock serves, in YAML, JSON or TOML.",
        "anyOf": [
            file,
            {
                "type": "object",
                "properties": { "mock_server": file },
                "required": ["mock_server"],
                "additionalProperties": false,
            },
        ],
        "$defs": tables.collect::<Map<_, _>>(),
    })
}

impl Section {
    /// The names of its keys.
    pub fn names(&self) -> Vec<&str> {
        self.keys.iter().map(|key| key.name.as_str()).collect()
    }

    fn schema(&self) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for key in &self.keys {
            let mut property = key.form().schema.clone();
            property["description"] = key.about.clone().into();
            let snake = snake_case(&key.name);
            if key.required {
                required.push(if snake == key.name {
                    json!({ "required": [snake] })
                } else {
                    json!({ "anyOf": [{ "required": [key.name] }, { "required": [snake] }] })
                });
            }
            properties.insert(snake, property.clone());
            properties.insert(key.name.clone(), property);
        }
        let mut table = json!({
            "description": self.title,
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        });
        if !required.is_empty() {
            table["allOf"] = required.into();
        }
        table
    }
}

/// `input_schema` for `inputSchema`.
fn snake_case(name: &str) -> String {
    let letters = name.chars().map(|letter| {
        let space = if letter.is_ascii_uppercase() { "_" } else { "" };
        format!("{space}{}", letter.to_ascii_lowercase())
    });
    letters.collect()
}

/// Whether two spellings are of the same name: `input_schema` and `inputSchema` are.
pub fn is_same(one: &str, other: &str) -> bool {
    let letters = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    letters(one) == letters(other)
}

#[cfg(test)]
mod tests {
    use super::{KEYS, section};

    #[test]
    fn every_table_and_form_is_there() {
        assert_eq!(KEYS.sections.len(), 10);
        assert_eq!(section("file").name, "file");
        for key in KEYS.sections.iter().flat_map(|section| &section.keys) {
            assert!(!key.form().words.is_empty(), "{}", key.name);
        }
    }
}
