//! Every key of a tools file: what it takes and what it does. The reader, the JSON Schema and the table in
//! the documents are made from these.

mod tables;

pub use tables::{ERROR, FILE, PROMPT, RESOURCE, RESOURCE_TEMPLATE, RESPONSE, RESULT, TOOL};
pub use tables::{MESSAGE, PROMPT_ARGUMENT};

/// A table of a tools file.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// What it is, for people.
    pub title: &'static str,
    /// Its name in the JSON Schema.
    pub name: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// A key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The name, as the protocol spells it; `_`, `-` and small letters will do too.
    pub name: &'static str,
    /// What it takes.
    pub form: Form,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it does.
    pub explanation: &'static str,
}

/// What a key takes.
#[derive(Debug, Clone, Copy)]
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
    Tables(&'static Section),
    /// A table of this section.
    Table(&'static Section),
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
    pub fn describe(self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Boolean => "true or false".into(),
            Self::Count => "whole number, 1 or more".into(),
            Self::Integer => "whole number".into(),
            Self::Map => "map".into(),
            Self::List => "list".into(),
            Self::Any => "any value".into(),
            Self::Schema => "JSON Schema".into(),
            Self::Tables(section) => format!("list of {}", section.title),
            Self::Table(section) => section.title.into(),
            Self::Response => "text, or a whole `CallToolResult`".into(),
            Self::Sequence => "list of responses, or of `{error: …}`".into(),
            Self::PromptArguments => "list of names, or of tables".into(),
            Self::Messages => "list of texts, or of `{role, content}`".into(),
        }
    }
}

/// Every table that is explained, in order.
pub const SECTIONS: &[&Section] = &[
    &FILE,
    &TOOL,
    &RESPONSE,
    &ERROR,
    &RESULT,
    &RESOURCE,
    &RESOURCE_TEMPLATE,
    &PROMPT,
];

/// Whether two spellings are of the same name: `input_schema` and `inputSchema` are.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let letters = |name: &str| -> Vec<u8> {
        let bytes = name.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        bytes.map(|byte| byte.to_ascii_lowercase()).collect()
    };
    one == other || letters(one) == letters(other)
}
