//! A file as a tree of values that know where they stand, the same for TOML, YAML and JSON.
//!
//! Before it: text. After it: a reader that turns the tree into a plan and can point at every
//! value that it does not like.

mod json;
mod read;
#[cfg(feature = "files")]
mod toml;
#[cfg(not(feature = "files"))]
mod unread;
#[cfg(feature = "files")]
mod yaml;
#[cfg(not(feature = "files"))]
use {unread as toml, unread as yaml};

use super::error::{Excerpt, Problems};
use crate::prelude::*;

pub use read::{Wanted, not_text, read_text, too_large};

/// Fails, with the reason, unless a text is TOML, as far as this build can tell.
pub fn check_toml(text: &str) -> Result<(), String> {
    #[cfg(feature = "files")]
    text.parse::<::toml::Table>()
        .map_err(|error| error.to_string())?;
    #[cfg(not(feature = "files"))]
    let _ = text;
    Ok(())
}

/// The largest file that is read.
pub const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The name of what is no file.
pub const COMMAND_LINE: &str = "command line";

/// Numbers with a fraction are exact below this: 2^53.
const WHOLE_NUMBER_MAX: f64 = 9_007_199_254_740_992.0;

/// A file that was read.
#[derive(Debug, Clone)]
pub struct Document {
    /// Its name, for messages.
    pub file: String,
    /// What it holds.
    pub root: Node,
    source: Source,
    /// Keys that are there twice, where these are told with all the rest. The first of each is kept.
    repeats: Vec<ConfigError>,
    is_yaml: bool,
    /// The text that its own values end before; what is given besides, such as flags, has places beyond it.
    end: usize,
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub data: Data,
    /// Its bytes in the file.
    pub span: Range<usize>,
}

/// What a [`Node`] holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Nothing; YAML only.
    Null,
    /// Yes or no.
    Boolean(bool),
    /// A whole number.
    Integer(i128),
    /// A number with a fraction or an exponent; may be infinite or no number at all.
    Number(f64),
    /// A text. A date of TOML is one too.
    Text(String),
    /// Values in order.
    List(Vec<Node>),
    /// Values by name, in the order of the file.
    Table(Vec<Field>),
}

/// One entry of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// Where the name stands.
    pub span: Range<usize>,
    /// The value.
    pub value: Node,
}

/// A text and where its lines begin.
#[derive(Debug, Clone)]
pub(super) struct Source {
    text: String,
    lines: Vec<usize>,
}

impl Document {
    /// Reads TOML; `file` is its name in messages.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, ConfigErrors> {
        Self::from_text(text, file, toml::parse)
    }

    /// Reads YAML; `file` is its name in messages.
    pub fn from_yaml(text: &str, file: &str) -> Result<Self, ConfigErrors> {
        let document = Self::from_yaml_with_repeats(text, file)?;
        document.refuse_repeats()?;
        Ok(document)
    }

    /// Reads YAML; keys that are there twice are told by whoever reads the document, with all else that is
    /// wrong with it.
    pub fn from_yaml_with_repeats(text: &str, file: &str) -> Result<Self, ConfigErrors> {
        let document = Self::from_text(text, file, yaml::parse)?;
        Ok(Self {
            is_yaml: true,
            ..document
        })
    }

    /// Keys that are there twice, as an error.
    pub fn refuse_repeats(&self) -> Result<(), ConfigErrors> {
        if self.repeats.is_empty() {
            Ok(())
        } else {
            Err(ConfigErrors(self.repeats.clone()))
        }
    }

    /// Keys that are there twice.
    pub(super) fn repeats(&self) -> &[ConfigError] {
        &self.repeats
    }

    /// Reads JSON; `file` is its name in messages.
    pub fn from_json(text: &str, file: &str) -> Result<Self, ConfigErrors> {
        Self::from_text(text, file, json::parse)
    }

    fn from_text(
        text: &str,
        file: &str,
        parse: fn(&Source) -> Parsed,
    ) -> Result<Self, ConfigErrors> {
        if text.len() > FILE_BYTES_MAX {
            let error = too_large(file, FILE_BYTES_MAX, Wanted::ANY);
            return Err(ConfigErrors::of(error));
        }
        let source = Source::new(text.strip_prefix('\u{feff}').unwrap_or(text));
        let told = |errors: Vec<SyntaxError>| {
            let mut problems = Problems::default();
            for error in errors {
                problems.push(|| {
                    source
                        .error(file, &error.span, error.message, error.hint)
                        .with_gist(error.gist)
                });
            }
            problems.into_errors(file)
        };
        let (root, repeats) = parse(&source).map_err(told)?;
        Ok(Self {
            file: file.to_owned(),
            root,
            repeats: told(repeats).0,
            is_yaml: false,
            end: text.len(),
            source,
        })
    }

    /// Nothing but what is given besides a file.
    pub fn empty(name: &str) -> Self {
        Self {
            file: name.to_owned(),
            root: Node::new(Data::Table(Vec::new())),
            source: Source::new(""),
            repeats: Vec::new(),
            is_yaml: false,
            end: 0,
        }
    }

    /// Puts values that were given besides the file in the place of its own: of a table, under whichever of its
    /// names each is there.
    pub fn overlay(
        &mut self,
        table: &str,
        values: impl IntoIterator<Item = (&'static Setting, Data)>,
    ) {
        let file_end = self.source.text.len();
        self.end += 1;
        let root = self.root.fields_mut();
        let within = root
            .iter()
            .position(|field| field.name == table)
            .unwrap_or_else(|| {
                root.push(Field::given(table, Data::Table(Vec::new()), self.end));
                root.len() - 1
            });
        let fields = root[within].value.fields_mut();
        for (setting, data) in values {
            // Another flag of the same meaning stays, and is a problem.
            fields.retain(|field| field.span.start > file_end || !setting.has_name(&field.name));
            fields.push(Field::given(setting.name, data, self.end));
            self.end += 1;
        }
    }

    /// Takes an entry of the file itself out of a table.
    pub fn forget(&mut self, table: &str, name: &str) {
        let file_end = self.source.text.len();
        let mut tables = self.root.fields_mut().iter_mut();
        if let Some(within) = tables.find(|field| field.name == table) {
            within
                .value
                .fields_mut()
                .retain(|field| field.span.start > file_end || field.name != name);
        }
    }

    /// Adds values that were given besides the file to a list at its top.
    pub fn append(&mut self, list: &str, values: impl IntoIterator<Item = Data>) {
        let added: Vec<Node> = values
            .into_iter()
            .map(|data| {
                self.end += 1;
                let span = self.end..self.end;
                Node { data, span }
            })
            .collect();
        let root = self.root.fields_mut();
        let list_there = root.iter_mut().find(|field| field.name == list);
        match list_there.map(|field| &mut field.value.data) {
            _ if added.is_empty() => {}
            Some(Data::List(nodes)) => nodes.extend(added),
            None | Some(Data::Null) => root.push(Field::given(list, Data::List(added), self.end)),
            // What is no list is a problem of its own.
            Some(_) => {}
        }
    }

    /// Whether a value was given besides the file.
    pub const fn is_given_besides(&self, span: &Range<usize>) -> bool {
        span.start > self.source.text.len()
    }

    /// A problem at these bytes of the file, with the line that they are on.
    pub fn error(
        &self,
        span: &Range<usize>,
        message: impl Into<Message>,
        hint: impl Into<Message>,
    ) -> ConfigError {
        let error = if self.is_given_besides(span) {
            ConfigError::of_file(COMMAND_LINE, message, hint)
        } else {
            self.source.error(&self.file, span, message, hint)
        };
        ConfigError {
            is_yaml: self.is_yaml,
            ..error
        }
    }
}

impl Document {
    /// Whether a key stands alone, without `:`, as what follows a comma in `{ prompt: Hello, world }`.
    pub(super) fn is_bare(&self, field: &Field) -> bool {
        let next = self
            .source
            .text
            .get(field.span.end..)
            .and_then(|rest| rest.trim_start().chars().next());
        self.is_yaml && field.value.data == Data::Null && matches!(next, Some(',' | '}'))
    }
}

/// What a parser of one format does not understand.
struct SyntaxError {
    span: Range<usize>,
    message: Message,
    hint: Message,
    gist: &'static str,
}

/// The tree, and keys that are there twice, of which the first is kept; else what is wrong.
type Parsed = Result<(Node, Vec<SyntaxError>), Vec<SyntaxError>>;

impl Data {
    /// As a value of TOML; nothing is an empty text.
    pub fn to_toml(&self) -> ::toml::Value {
        match self {
            Self::Null => "".into(),
            Self::Boolean(value) => (*value).into(),
            Self::Integer(value) => {
                i64::try_from(*value).map_or_else(|_| value.to_string().into(), Into::into)
            }
            Self::Number(value) => (*value).into(),
            Self::Text(text) => text.as_str().into(),
            Self::List(nodes) => nodes
                .iter()
                .map(|node| node.data.to_toml())
                .collect::<Vec<_>>()
                .into(),
            Self::Table(fields) => {
                let fields = fields
                    .iter()
                    .map(|field| (field.name.clone(), field.value.data.to_toml()));
                ::toml::Value::Table(fields.collect())
            }
        }
    }

    /// As text without quotes; none of nothing, a list or a table.
    pub fn plain(&self) -> Option<String> {
        match self {
            Self::Boolean(value) => Some(value.to_string()),
            Self::Integer(value) => Some(value.to_string()),
            Self::Number(value) => Some(value.to_string()),
            Self::Text(text) => Some(text.clone()),
            Self::Null | Self::List(_) | Self::Table(_) => None,
        }
    }

    /// A list of texts.
    pub fn texts(texts: impl IntoIterator<Item = String>) -> Self {
        Self::List(
            texts
                .into_iter()
                .map(|text| Node::new(Self::Text(text)))
                .collect(),
        )
    }
}

impl Field {
    /// A value that is in no file.
    pub(crate) fn given(name: &str, data: Data, place: usize) -> Self {
        let mut value = Node::new(data);
        value.place_at(place);
        Self {
            name: name.to_owned(),
            span: place..place,
            value,
        }
    }

    /// A value that was made here.
    pub fn new(name: &str, data: Data) -> Self {
        Self::given(name, data, 0)
    }
}

impl Node {
    /// A value that was made here.
    pub const fn new(data: Data) -> Self {
        Self { data, span: 0..0 }
    }

    /// Puts it, and all that is in it, at a place beyond the file.
    fn place_at(&mut self, place: usize) {
        self.span = place..place;
        match &mut self.data {
            Data::List(nodes) => nodes.iter_mut().for_each(|node| node.place_at(place)),
            Data::Table(fields) => {
                for field in fields {
                    field.span = place..place;
                    field.value.place_at(place);
                }
            }
            _ => {}
        }
    }

    /// The entries, if it is a table; one is made of nothing.
    fn fields_mut(&mut self) -> &mut Vec<Field> {
        if !matches!(self.data, Data::Table(_)) {
            self.data = Data::Table(Vec::new());
        }
        match &mut self.data {
            Data::Table(fields) => fields,
            _ => unreachable!("it was made a table"),
        }
    }

    /// What kind of value it is, for messages.
    pub const fn kind(&self) -> &'static str {
        match &self.data {
            Data::Null => "nothing",
            Data::Boolean(_) => "a boolean",
            Data::Integer(_) | Data::Number(_) => "a number",
            Data::Text(_) => "a text",
            Data::List(_) => "a list",
            Data::Table(_) => "a table",
        }
    }

    /// The entries, if it is a table.
    pub fn fields(&self) -> &[Field] {
        match &self.data {
            Data::Table(fields) => fields,
            _ => &[],
        }
    }

    /// The values, if it is a list.
    pub fn elements(&self) -> &[Self] {
        match &self.data {
            Data::List(nodes) => nodes,
            _ => &[],
        }
    }

    /// The entry of this name, if it is a table that has it.
    pub fn get(&self, name: &str) -> Option<&Field> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The whole number, if it is one; `3.0` is one too.
    pub fn integer(&self) -> Option<i128> {
        match self.data {
            Data::Integer(value) => Some(value),
            Data::Number(value) if value.fract() == 0.0 && value.abs() < WHOLE_NUMBER_MAX => {
                // Whole, and small enough to be exact.
                #[allow(clippy::cast_possible_truncation)]
                let whole = value as i128;
                Some(whole)
            }
            _ => None,
        }
    }

    /// The same as JSON; an error is a value that JSON cannot hold.
    pub fn to_json(&self) -> Result<Value, &Node> {
        Ok(match &self.data {
            Data::Null => Value::Null,
            Data::Boolean(value) => Value::Bool(*value),
            Data::Integer(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => value.into(),
                (_, Ok(value)) => value.into(),
                _ => return Err(self),
            },
            Data::Number(value) => Value::Number(serde_json::Number::from_f64(*value).ok_or(self)?),
            Data::Text(text) => Value::String(text.clone()),
            Data::List(nodes) => {
                let values: Result<Vec<_>, _> = nodes.iter().map(Self::to_json).collect();
                Value::Array(values?)
            }
            Data::Table(fields) => {
                let mut object = serde_json::Map::new();
                for field in fields {
                    object.insert(field.name.clone(), field.value.to_json()?);
                }
                Value::Object(object)
            }
        })
    }
}

impl Node {
    /// Every number in it that JSON cannot hold.
    pub(crate) fn beyond_json(&self) -> Vec<&Node> {
        match &self.data {
            Data::List(nodes) => nodes.iter().flat_map(Self::beyond_json).collect(),
            Data::Table(fields) => fields
                .iter()
                .map(|field| &field.value)
                .flat_map(Self::beyond_json)
                .collect(),
            _ if self.to_json().is_err() => vec![self],
            _ => Vec::new(),
        }
    }
}

impl Source {
    pub fn new(text: &str) -> Self {
        let mut lines = vec![0];
        lines.extend(text.match_indices('\n').map(|(index, _)| index + 1));
        Self {
            text: text.to_owned(),
            lines,
        }
    }

    /// A problem at these bytes, with the line that they are on.
    fn error(
        &self,
        file: &str,
        span: &Range<usize>,
        message: impl Into<Message>,
        hint: impl Into<Message>,
    ) -> ConfigError {
        let start = self.text.floor_char_boundary(span.start);
        let line = self.lines.partition_point(|begin| *begin <= start).max(1);
        let begin = self.lines.get(line - 1).copied().unwrap_or_default();
        let end = self
            .lines
            .get(line)
            .map_or(self.text.len(), |next| next - 1);
        // Of lines that end as on Windows, the end is not shown.
        let whole = self.text.get(begin..end).unwrap_or_default();
        let end = end - usize::from(whole.ends_with('\r'));
        let meant_end = self.text.floor_char_boundary(span.end.min(end)).max(start);
        let part = |range: Range<usize>| self.text.get(range).unwrap_or_default();
        let before = part(begin..start);
        ConfigError {
            place: Some(SourcePlace {
                line,
                column: before.chars().count() + 1,
            }),
            excerpt: Some(Excerpt::new(
                before,
                part(start..meant_end),
                part(meant_end..end),
            )),
            ..ConfigError::of_file(file, message, hint)
        }
    }

    /// The byte at a line and a column, both counted from one.
    fn offset(&self, line: u64, column: u64) -> usize {
        let index = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(begin) = self.lines.get(index) else {
            return self.text.len();
        };
        let skipped = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
        let line = self
            .text
            .get(*begin..)
            .unwrap_or_default()
            .split('\n')
            .next()
            .unwrap_or_default();
        let within = line.char_indices().nth(skipped);
        begin + within.map_or(line.len(), |(index, _)| index)
    }
}

#[cfg(test)]
mod tests;
