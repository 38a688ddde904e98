//! Answers with places for arguments: `found ${args.query}`.
//!
//! A place names an argument, or what is inside of one: `${args.filter.author}`, `${args.tags.0}`. In a
//! text it becomes text; a text that is nothing but one place becomes the value itself, with its type.
//! An argument that was not given is an empty text. `$${` stands for a `${` that means itself.

use crate::prelude::*;

/// The largest answer that arguments can make.
pub const RENDERED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A JSON value with places for arguments, which were found good when it was made.
#[derive(Clone, PartialEq)]
pub struct Template {
    value: Value,
    places: Places,
}

/// As its parts were shown when the first cassettes were written: they have a digest of this text.
impl fmt::Debug for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = Shown(&self.value, self.places);
        formatter.debug_tuple("Template").field(&shown).finish()
    }
}

struct Shown<'t>(&'t Value, Places);

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value, places) = *self;
        match value {
            Value::String(text) if places != Places::None => show_text(text, places, formatter),
            Value::Array(values) if places != Places::None => {
                let parts: Vec<_> = values.iter().map(|it| Shown(it, places)).collect();
                formatter.debug_tuple("List").field(&parts).finish()
            }
            Value::Object(fields) if places != Places::None => {
                let parts = fields.iter();
                let parts = parts.map(|(name, value)| (name, Shown(value, places.within(name))));
                let parts: Vec<_> = parts.collect();
                formatter.debug_tuple("Table").field(&parts).finish()
            }
            value => formatter.debug_tuple("Literal").field(value).finish(),
        }
    }
}

fn show_text(text: &str, places: Places, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    #[derive(Debug)]
    enum Part<'t> {
        Literal(String),
        Argument(Vec<&'t str>),
    }
    let mut parts = Vec::new();
    for piece in pieces(text).unwrap_or_default() {
        match (piece, parts.last_mut()) {
            (Piece::Literal(text), Some(Part::Literal(before))) => before.push_str(text),
            (Piece::Literal(text), _) => parts.push(Part::Literal(text.to_owned())),
            (Piece::Argument(path), _) => parts.push(Part::Argument(path.split('.').collect())),
        }
    }
    match (&parts[..], places) {
        ([], _) => formatter
            .debug_tuple("Literal")
            .field(&Value::from(""))
            .finish(),
        ([Part::Literal(text)], _) => {
            let text = Value::from(text.as_str());
            formatter.debug_tuple("Literal").field(&text).finish()
        }
        ([Part::Argument(path)], Places::Typed) => {
            formatter.debug_tuple("Whole").field(path).finish()
        }
        _ => formatter.debug_tuple("Text").field(&parts).finish(),
    }
}

/// What the texts of a template are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Places {
    /// They have no places, whatever they look like.
    None,
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

/// A part of a text.
enum Piece<'t> {
    Literal(&'t str),
    /// The way to a value: the name of an argument, then names and indices inside of it, with dots between.
    Argument(&'t str),
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
    pub const fn literal(value: Value) -> Self {
        let places = Places::None;
        Self { value, places }
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
        Self::of(value, Places::Typed)
    }

    /// A value in which every text stays one.
    pub fn texts(value: Value) -> Result<Self, TemplateError> {
        Self::of(value, Places::Texts)
    }

    /// The result of a call, or a JSON-RPC error: its `content` or `message` is made of texts, all else keeps the types
    /// of arguments.
    pub fn answer(answer: Value) -> Result<Self, TemplateError> {
        Self::of(answer, Places::Answer)
    }

    fn of(value: Value, places: Places) -> Result<Self, TemplateError> {
        check_all(&value)?;
        Ok(Self { value, places })
    }

    /// The template of a field.
    pub(super) fn field(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name)?.clone();
        let places = self.places.within(name);
        Some(Self { value, places })
    }

    /// The value with these arguments; `None` if it would be larger than [`RENDERED_BYTES_MAX`].
    pub fn render(&self, arguments: &Map<String, Value>) -> Option<Value> {
        let mut room = RENDERED_BYTES_MAX;
        render(&self.value, self.places, arguments, &mut room)
    }
}

fn check_all(value: &Value) -> Result<(), TemplateError> {
    match value {
        Value::String(text) => check(text),
        Value::Array(values) => values.iter().try_for_each(check_all),
        Value::Object(fields) => fields.values().try_for_each(check_all),
        _ => Ok(()),
    }
}

/// Whether a text can be a template.
pub fn check(text: &str) -> Result<(), TemplateError> {
    pieces(text).map(|_| ())
}

fn pieces(mut text: &str) -> Result<Vec<Piece<'_>>, TemplateError> {
    let mut pieces = Vec::new();
    while let Some((before, after)) = text.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            pieces.extend([Piece::Literal(before), Piece::Literal("${")]);
            text = after;
            continue;
        }
        let (place, rest) = after.split_once('}').ok_or(TemplateError::Open)?;
        let path = place.trim().strip_prefix("args.");
        let path = path.filter(|path| path.split('.').all(|name| !name.is_empty()));
        let path = path.ok_or_else(|| TemplateError::NotAnArgument(shorten(place, 60)))?;
        pieces.extend([Piece::Literal(before), Piece::Argument(path)]);
        text = rest;
    }
    pieces.push(Piece::Literal(text));
    pieces.retain(|piece| !matches!(piece, Piece::Literal("")));
    Ok(pieces)
}

/// `None` if there is not enough room.
fn render(
    value: &Value,
    places: Places,
    arguments: &Map<String, Value>,
    room: &mut usize,
) -> Option<Value> {
    Some(match value {
        _ if places == Places::None => copy(value, room)?,
        Value::String(text) => match (&pieces(text).ok()?[..], places) {
            ([Piece::Argument(path)], Places::Typed) => match find(arguments, path) {
                Some(value) => copy(value, room)?,
                None => "".into(),
            },
            (pieces, _) => {
                let mut text = String::new();
                for piece in pieces {
                    let piece: Cow<'_, str> = match piece {
                        Piece::Literal(literal) => (*literal).into(),
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
        },
        Value::Array(values) => {
            let values = values.iter();
            let values = values.map(|value| render(value, places, arguments, room));
            Value::Array(values.collect::<Option<_>>()?)
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                take(room, name.len())?;
                let value = render(value, places.within(name), arguments, room)?;
                Some((name.clone(), value))
            });
            Value::Object(fields.collect::<Option<_>>()?)
        }
        value => copy(value, room)?,
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
            let fields = fields.iter();
            let sizes = fields.map(|(name, value)| name.len() + size(value) + 4);
            sizes.sum::<usize>() + 2
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

fn find<'v>(arguments: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    let mut names = path.split('.');
    let first = arguments.get(names.next()?)?;
    names.try_fold(first, |value, name| match value {
        Value::Array(values) => values.get(name.parse::<usize>().ok()?),
        Value::Object(fields) => fields.get(name),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
