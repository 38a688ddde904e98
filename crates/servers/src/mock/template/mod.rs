//! Answers with places for arguments: `found ${args.query}`.
//!
//! A place names an argument, or what is inside of one: `${args.filter.author}`, `${args.tags.0}`. In a
//! text it becomes text; a text that is nothing but one place becomes the value itself, with its type.
//! An argument that was not given is an empty text. `$${` stands for a `${` that means itself.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The largest answer that arguments can make.
pub const RENDERED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A JSON value with places for arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Part);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Literal(Value),
    Text(Vec<Piece>),
    Whole(Path),
    List(Vec<Part>),
    Table(Vec<(String, Part)>),
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Literal(String),
    Argument(Path),
}

/// The way to a value: the name of an argument, then names and indices inside of it.
type Path = Vec<String>;

/// What a text that is nothing but one place becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Types {
    Kept,
    Texts,
}

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A `${` without its `}`.
    #[error("`${{` without `}}`")]
    Open,
    /// Something else than an argument.
    #[error("`${{{0}}}` is not an argument")]
    NotAnArgument(String),
}

impl Template {
    /// A value without places, whatever its texts look like.
    pub fn literal(value: Value) -> Self {
        Self(Part::Literal(value))
    }

    /// A value whose texts may have places.
    ///
    /// ```
    /// use mcprove_servers::mock::Template;
    /// use serde_json::json;
    ///
    /// let template = Template::parse(&json!({ "n": "${args.n}", "text": "n is ${args.n}" })).unwrap();
    /// let arguments = json!({ "n": 5 });
    /// let made = template.render(arguments.as_object().unwrap());
    /// assert_eq!(made, Some(json!({ "n": 5, "text": "n is 5" })));
    /// ```
    pub fn parse(value: &Value) -> Result<Self, TemplateError> {
        part(value, Types::Kept).map(Self)
    }

    /// A text, which stays one.
    pub fn text(text: &str) -> Result<Self, TemplateError> {
        text_part(text, Types::Texts).map(Self)
    }

    /// A value in which every text stays one.
    pub fn texts(value: &Value) -> Result<Self, TemplateError> {
        part(value, Types::Texts).map(Self)
    }

    /// A result of a call: its `content` is made of texts, all else keeps the types of arguments.
    pub fn result(result: &Map<String, Value>) -> Result<Self, TemplateError> {
        let fields = result.iter().map(|(name, value)| {
            let types = match name.as_str() {
                "content" => Types::Texts,
                _ => Types::Kept,
            };
            Ok((name.clone(), part(value, types)?))
        });
        let fields: Result<Vec<_>, TemplateError> = fields.collect();
        Ok(Self(Part::Table(fields?)))
    }

    /// The value with these arguments; `None` if it would be larger than [`RENDERED_BYTES_MAX`].
    pub fn render(&self, arguments: &Map<String, Value>) -> Option<Value> {
        let mut room = RENDERED_BYTES_MAX;
        render(&self.0, arguments, &mut room)
    }
}

/// Whether a text can be a template.
pub fn check(text: &str) -> Result<(), TemplateError> {
    pieces(text).map(|_| ())
}

fn part(value: &Value, types: Types) -> Result<Part, TemplateError> {
    Ok(match value {
        Value::String(text) => text_part(text, types)?,
        Value::Array(values) => {
            let parts: Result<_, _> = values.iter().map(|value| part(value, types)).collect();
            Part::List(parts?)
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let parts = fields.map(|(name, value)| Ok((name.clone(), part(value, types)?)));
            Part::Table(parts.collect::<Result<_, _>>()?)
        }
        value => Part::Literal(value.clone()),
    })
}

fn text_part(text: &str, types: Types) -> Result<Part, TemplateError> {
    let mut pieces = pieces(text)?;
    Ok(match (&mut pieces[..], types) {
        ([], _) => Part::Literal(Value::from("")),
        ([Piece::Literal(text)], _) => Part::Literal(Value::String(std::mem::take(text))),
        ([Piece::Argument(path)], Types::Kept) => Part::Whole(std::mem::take(path)),
        _ => Part::Text(pieces),
    })
}

fn pieces(mut text: &str) -> Result<Vec<Piece>, TemplateError> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    while let Some((before, after)) = text.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            literal.push_str(before);
            literal.push_str("${");
            text = after;
            continue;
        }
        literal.push_str(before);
        let (place, rest) = after.split_once('}').ok_or(TemplateError::Open)?;
        if !literal.is_empty() {
            pieces.push(Piece::Literal(std::mem::take(&mut literal)));
        }
        pieces.push(Piece::Argument(path(place)?));
        text = rest;
    }
    literal.push_str(text);
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}

fn path(place: &str) -> Result<Path, TemplateError> {
    let names = place.trim().strip_prefix("args.");
    let names: Path = names
        .unwrap_or_default()
        .split('.')
        .map(str::to_owned)
        .collect();
    if names.iter().any(String::is_empty) {
        return Err(TemplateError::NotAnArgument(
            mcprove_settings::text::shorten(place, 60),
        ));
    }
    Ok(names)
}

/// `None` if there is not enough room.
fn render(part: &Part, arguments: &Map<String, Value>, room: &mut usize) -> Option<Value> {
    Some(match part {
        Part::Literal(value) => copy(value, room)?,
        Part::Whole(path) => match find(arguments, path) {
            Some(value) => copy(value, room)?,
            None => Value::from(""),
        },
        Part::Text(pieces) => {
            let mut text = String::new();
            for piece in pieces {
                let piece: Cow<'_, str> = match piece {
                    Piece::Literal(literal) => literal.into(),
                    Piece::Argument(path) => match find(arguments, path) {
                        Some(Value::String(value)) => value.into(),
                        Some(value) => value.to_string().into(),
                        None => continue,
                    },
                };
                take(room, piece.len())?;
                text.push_str(&piece);
            }
            Value::String(text)
        }
        Part::List(parts) => {
            let values = parts.iter().map(|part| render(part, arguments, room));
            Value::Array(values.collect::<Option<_>>()?)
        }
        Part::Table(parts) => {
            let fields = parts.iter().map(|(name, part)| {
                take(room, name.len())?;
                Some((name.clone(), render(part, arguments, room)?))
            });
            Value::Object(fields.collect::<Option<_>>()?)
        }
    })
}

fn copy(value: &Value, room: &mut usize) -> Option<Value> {
    take(room, size(value))?;
    Some(value.clone())
}

fn take(room: &mut usize, bytes: usize) -> Option<()> {
    *room = room.checked_sub(bytes)?;
    Some(())
}

/// About how many bytes a value takes.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(values) => values.iter().map(|value| size(value) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            let sizes = fields
                .iter()
                .map(|(name, value)| name.len() + size(value) + 4);
            sizes.sum::<usize>() + 2
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

fn find<'v>(arguments: &'v Map<String, Value>, path: &[String]) -> Option<&'v Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(arguments.get(first)?, |value, name| match value {
            Value::Array(values) => values.get(name.parse::<usize>().ok()?),
            Value::Object(fields) => fields.get(name),
            _ => None,
        })
}

#[cfg(test)]
mod tests;
