//! Every key of a tools file: what it takes and what it does. The reader, the JSON Schema and the table in
//! the documents are made from these.

use std::sync::LazyLock;

use serde::Deserialize;

/// Every table, those that are explained first.
pub static SECTIONS: LazyLock<Vec<Section>> =
    // A test reads it.
    LazyLock::new(|| serde_json::from_str(include_str!("keys.json")).unwrap_or_default());

/// A table of a tools file.
#[derive(Debug, Deserialize)]
pub struct Section {
    /// Its name in the JSON Schema.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// Its keys.
    pub keys: Vec<Key>,
}

/// A key of a table.
#[derive(Debug, Deserialize)]
pub struct Key {
    /// The name, as the protocol spells it; `_`, `-` and small letters will do too.
    pub name: String,
    /// What it takes.
    pub form: Form,
    /// Whether it must be there.
    #[serde(default)]
    pub required: bool,
    /// What it does.
    pub about: String,
}

impl Section {
    /// The names of its keys.
    pub(super) fn names(&self) -> Vec<&str> {
        self.keys.iter().map(|key| key.name.as_str()).collect()
    }
}

/// The table of this name.
pub(super) fn section(name: &str) -> &'static Section {
    static NONE: Section = Section {
        name: String::new(),
        title: String::new(),
        keys: Vec::new(),
    };
    SECTIONS
        .iter()
        .find(|section| section.name == name)
        .unwrap_or(&NONE)
}

/// What a key takes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Form {
    /// A text.
    Text,
    /// True or false.
    Boolean,
    /// A whole number from one up.
    Count,
    /// Any whole number.
    Integer,
    /// A map of anything.
    Map,
    /// A list of anything.
    List,
    /// Any value.
    Any,
    /// A JSON Schema.
    Schema,
    /// A list of tables of this section.
    Tables(String),
    /// A table of this section.
    Table(String),
    /// A text, or a whole result of a call.
    Response,
    /// A list of responses and errors.
    Sequence,
    /// A list of prompt arguments: a name or a table.
    PromptArguments,
    /// A list of messages: a text or a table.
    Messages,
}

impl Form {
    /// For people.
    pub fn describe(&self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Boolean => "true or false".into(),
            Self::Count => "whole number, 1 or more".into(),
            Self::Integer => "whole number".into(),
            Self::Map => "map".into(),
            Self::List => "list".into(),
            Self::Any => "any value".into(),
            Self::Schema => "JSON Schema".into(),
            Self::Tables(name) => format!("list of {}", section(name).title),
            Self::Table(name) => section(name).title.clone(),
            Self::Response => "text, or a whole `CallToolResult`".into(),
            Self::Sequence => "list of responses, or of `{error: …}`".into(),
            Self::PromptArguments => "list of names, or of tables".into(),
            Self::Messages => "list of texts, or of `{role, content}`".into(),
        }
    }
}

/// Whether two spellings are of the same name: `input_schema` and `inputSchema` are.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let letters = |name: &str| -> Vec<u8> {
        let bytes = name.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        bytes.map(|byte| byte.to_ascii_lowercase()).collect()
    };
    one == other || letters(one) == letters(other)
}

#[cfg(test)]
mod tests {
    use super::{Form, SECTIONS, section};

    #[test]
    fn every_table_is_there() {
        assert_eq!(SECTIONS.len(), 10);
        for key in SECTIONS.iter().flat_map(|section| &section.keys) {
            if let Form::Table(name) | Form::Tables(name) = &key.form {
                assert_eq!(section(name).name, *name);
            }
        }
    }
}
