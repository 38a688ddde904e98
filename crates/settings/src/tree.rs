//! A file as a tree of values that know where they stand, the same for TOML, YAML and JSON.
//!
//! Before it: text. After it: a reader that turns the tree into a plan and can point at every
//! value that it does not like.

mod json;
mod read;
mod toml;
mod words;
mod yaml;

use std::ops::Range;

use serde_json::Value;

use super::error::{ConfigError, ConfigErrors, Excerpt, Place, Problems};

pub use read::{Wanted, not_text, read_text, too_large};

/// The largest file that is read.
pub const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

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
        let mut repeats = Problems::default();
        let mut document = Self::from_text(text, file, |source, report| {
            yaml::parse_with_repeats(source, report, &mut |error| {
                repeats.push(|| source.error(file, &error.span, error.message, error.hint));
            })
        })?;
        document.is_yaml = true;
        document.repeats = repeats.into_errors(file).0;
        Ok(document)
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
        parse: impl FnOnce(&Source, &mut dyn FnMut(SyntaxError)) -> Option<Node>,
    ) -> Result<Self, ConfigErrors> {
        if text.len() > FILE_BYTES_MAX {
            return Err(ConfigErrors::of(too_large(
                file,
                FILE_BYTES_MAX,
                Wanted::ANY,
            )));
        }
        let source = Source::new(text.strip_prefix('\u{feff}').unwrap_or(text));
        let mut problems = Problems::default();
        let root = parse(&source, &mut |error: SyntaxError| {
            problems.push(|| source.error(file, &error.span, error.message, error.hint));
        });
        match root {
            Some(root) if problems.is_empty() => Ok(Self {
                file: file.to_owned(),
                root,
                source,
                repeats: Vec::new(),
                is_yaml: false,
            }),
            _ => Err(problems.into_errors(file)),
        }
    }

    /// A problem at these bytes of the file, with the line that they are on.
    pub fn error(
        &self,
        span: &Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> ConfigError {
        let (mut message, mut hint) = (message.into(), hint.into());
        if self.is_yaml {
            (message, hint) = (words::message(message), words::hint(hint));
        }
        self.source.error(&self.file, span, message, hint)
    }
}

impl Document {
    /// Whether a key stands alone, without `:`, as what follows a comma in `{ prompt: Hello, world }`.
    pub(super) fn is_bare(&self, field: &Field) -> bool {
        let rest = self.source.text.get(field.span.end..);
        let next = rest.and_then(|rest| rest.trim_start().chars().next());
        self.is_yaml && field.value.data == Data::Null && matches!(next, Some(',' | '}'))
    }
}

/// What a parser of one format does not understand.
struct SyntaxError {
    span: Range<usize>,
    message: String,
    hint: String,
}

impl Node {
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
    pub fn beyond_json(&self) -> Vec<&Node> {
        let mut beyond = Vec::new();
        self.add_beyond_json(&mut beyond);
        beyond
    }

    fn add_beyond_json<'n>(&'n self, beyond: &mut Vec<&'n Node>) {
        match &self.data {
            Data::List(nodes) => nodes.iter().for_each(|node| node.add_beyond_json(beyond)),
            Data::Table(fields) => {
                for field in fields {
                    field.value.add_beyond_json(beyond);
                }
            }
            _ if self.to_json().is_err() => beyond.push(self),
            _ => {}
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
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> ConfigError {
        let start = floor_boundary(&self.text, span.start);
        let line = self.lines.partition_point(|begin| *begin <= start).max(1);
        let begin = self.lines.get(line - 1).copied().unwrap_or_default();
        let end = self
            .lines
            .get(line)
            .map_or(self.text.len(), |next| next - 1);
        // Of lines that end as on Windows, the end is not shown.
        let whole = self.text.get(begin..end).unwrap_or_default();
        let end = end - usize::from(whole.ends_with('\r'));
        let meant_end = floor_boundary(&self.text, span.end.min(end)).max(start);
        let part = |range: Range<usize>| self.text.get(range).unwrap_or_default();
        let before = part(begin..start);
        ConfigError {
            file: file.to_owned(),
            place: Some(Place {
                line,
                column: before.chars().count() + 1,
            }),
            excerpt: Some(Excerpt::new(
                before,
                part(start..meant_end),
                part(meant_end..end),
            )),
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    /// The byte at a line and a column, both counted from one.
    fn offset(&self, line: u64, column: u64) -> usize {
        let index = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(begin) = self.lines.get(index) else {
            return self.text.len();
        };
        let skipped = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
        let rest = self.text.get(*begin..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        let within = line.char_indices().nth(skipped);
        begin + within.map_or(line.len(), |(index, _)| index)
    }
}

/// The nearest start of a character at or before `index`.
fn floor_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

#[cfg(test)]
mod tests;
