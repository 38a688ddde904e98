//! Answers with places for arguments: `found ${args.query}`.
//!
//! A place names an argument, or what is inside of one: `${args.filter.author}`, `${args.tags.0}`. In a
//! text it becomes text; a text that is nothing but one place becomes the value itself, with its type.
//! An argument that was not given is an empty text. `$${` stands for a `${` that means itself.

use std::mem;

use mcprove_settings::message::Message;

use crate::prelude::*;

/// The largest answer that arguments can make.
pub const RENDERED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A JSON value with places for arguments, which were found good when it was made. Cassettes have a digest of how it is
/// shown, so the names in here stay.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Part);

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    /// Has no places.
    Literal(Value),
    /// Nothing but one place: becomes the argument, with its type.
    Whole(Path),
    Text(Vec<Piece>),
    List(Vec<Part>),
    Table(Vec<(String, Part)>),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Literal(String),
    Argument(Path),
}

/// The way to a value: the name of an argument, then names and indices inside of it.
type Path = Vec<String>;

/// What the texts of a template are.
#[derive(Clone, Copy, PartialEq)]
enum Places {
    /// One that is nothing but one place becomes the argument, with its type.
    Typed,
    /// Every text stays one.
    Texts,
    /// Texts in the `content` of a result and the `message` of an error; typed elsewhere.
    Answer,
}

impl Places {
    /// What the texts of this field are.
    fn within(self, field: &str) -> Self {
        match (self, field) {
            (Self::Answer, "content" | "message") => Self::Texts,
            (Self::Answer, _) => Self::Typed,
            (places, _) => places,
        }
    }
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

impl UserError for TemplateError {
    fn hint(&self) -> Message {
        sentence!("write {} for the argument NAME", code("${args.NAME}"))
    }
}

impl Template {
    /// A value without places, whatever its texts look like.
    pub const fn literal(value: Value) -> Self {
        Self(Part::Literal(value))
    }

    /// A value whose texts may have places.
    ///
    /// ```
    /// use mcprove_servers::mock::Template;
    /// use serde_json::json;
    ///
    /// let template = Template::parse(json!({ "n": "${args.n}", "text": "n is ${args.n}" })).unwrap();
    /// let arguments = json!({ "n": 5 });
    /// let made = template.render(arguments.as_object().unwrap());
    /// assert_eq!(made, Some(json!({ "n": 5, "text": "n is 5" })));
    /// ```
    pub fn parse(value: Value) -> Result<Self, TemplateError> {
        Part::of(value, Places::Typed).map(Self)
    }

    /// A value in which every text stays one.
    pub fn texts(value: Value) -> Result<Self, TemplateError> {
        Part::of(value, Places::Texts).map(Self)
    }

    /// The result of a call, or a JSON-RPC error: its `content` or `message` is made of texts, all else keeps the types
    /// of arguments.
    pub fn answer(answer: Value) -> Result<Self, TemplateError> {
        Part::of(answer, Places::Answer).map(Self)
    }

    pub fn field(&self, name: &str) -> Option<Self> {
        let part = match &self.0 {
            Part::Literal(value) => Part::Literal(value.get(name)?.clone()),
            Part::Table(fields) => fields.iter().find(|(field, _)| field == name)?.1.clone(),
            _ => return None,
        };
        Some(Self(part))
    }

    /// The value with these arguments; `None` if it would be larger than [`RENDERED_BYTES_MAX`].
    pub fn render(&self, arguments: &Fields) -> Option<Value> {
        let mut room = RENDERED_BYTES_MAX;
        self.0.render(arguments, &mut room)
    }
}

impl Part {
    fn of(value: Value, places: Places) -> Result<Self, TemplateError> {
        Ok(match value {
            Value::String(text) => {
                let mut pieces = pieces(&text)?;
                match (&mut pieces[..], places) {
                    ([], _) => Self::Literal(text.into()),
                    ([Piece::Literal(text)], _) => Self::Literal(mem::take(text).into()),
                    ([Piece::Argument(path)], Places::Typed) => Self::Whole(mem::take(path)),
                    _ => Self::Text(pieces),
                }
            }
            Value::Array(values) => {
                let parts = values.into_iter().map(|value| Self::of(value, places));
                Self::List(parts.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let parts = fields.into_iter().map(|(name, value)| {
                    let part = Self::of(value, places.within(&name))?;
                    Ok((name, part))
                });
                Self::Table(parts.collect::<Result<_, _>>()?)
            }
            value => Self::Literal(value),
        })
    }

    /// `None` if there is not enough room.
    fn render(&self, arguments: &Fields, room: &mut usize) -> Option<Value> {
        Some(match self {
            Self::Literal(value) => copy(value, room)?,
            Self::Whole(path) => match find(arguments, path) {
                Some(value) => copy(value, room)?,
                None => "".into(),
            },
            Self::Text(pieces) => {
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
                text.into()
            }
            Self::List(parts) => {
                let values = parts.iter().map(|part| part.render(arguments, room));
                Value::Array(values.collect::<Option<_>>()?)
            }
            Self::Table(fields) => {
                let fields = fields.iter().map(|(name, part)| {
                    take(room, name.len())?;
                    Some((name.clone(), part.render(arguments, room)?))
                });
                Value::Object(fields.collect::<Option<_>>()?)
            }
        })
    }
}

/// Whether a text can be a template.
pub fn check(text: &str) -> Result<(), TemplateError> {
    pieces(text).map(|_| ())
}

fn pieces(mut text: &str) -> Result<Vec<Piece>, TemplateError> {
    let (mut pieces, mut literal) = (Vec::new(), String::new());
    while let Some((before, after)) = text.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            literal = literal + before + "${";
            text = after;
            continue;
        }
        let (place, rest) = after.split_once('}').ok_or(TemplateError::Open)?;
        let path = place.trim().strip_prefix("args.");
        let path = path.filter(|path| path.split('.').all(|name| !name.is_empty()));
        let path = path.ok_or_else(|| TemplateError::NotAnArgument(shorten(place, 60)))?;
        let path = path.split('.').map(str::to_owned).collect();
        let literal = Piece::Literal(mem::take(&mut literal) + before);
        pieces.extend([literal, Piece::Argument(path)]);
        text = rest;
    }
    pieces.push(Piece::Literal(literal + text));
    pieces.retain(|piece| !matches!(piece, Piece::Literal(text) if text.is_empty()));
    Ok(pieces)
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

fn find<'v>(arguments: &'v Fields, path: &[String]) -> Option<&'v Value> {
    let (first, names) = path.split_first()?;
    let first = arguments.get(first)?;
    names.iter().try_fold(first, |value, name| match value {
        Value::Array(values) => values.get(name.parse::<usize>().ok()?),
        Value::Object(fields) => fields.get(name),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
