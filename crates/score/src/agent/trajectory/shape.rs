//! What the arguments of an expected call must look like.

use std::collections::BTreeSet;

use mcprove_settings::kind::Kind;
use mcprove_settings::reader::Reader;
use mcprove_settings::registry::nearest;
use mcprove_settings::setting::{Setting, SettingType};
use mcprove_settings::tree::Field;
use mcprove_trace::{Json, canonical};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::agent::tool_name::Fit;
use crate::gate::file;
use crate::gate::{Difference, Matcher, MatcherError};

/// Differences of one call that a mismatch keeps: one for each alternative, the first few.
pub const DIFFERENCES_KEPT: usize = 5;

const NAMES: [&str; 6] = ["any", "ignore", "exact", "subset", "schema", "one_of"];

/// What the arguments of an expected call must look like. A call without arguments has an empty map of
/// them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentShape {
    /// Anything, also none: only the name is pinned.
    #[default]
    Any,
    /// Not looked at, because they are noisy.
    Ignore,
    /// Equal to this value.
    Exact(Value),
    /// A superset of this value; see the matcher `subset`.
    Subset(Value),
    /// Valid under this JSON Schema.
    Schema(Value),
    /// Any of these.
    OneOf(Vec<ArgumentShape>),
}

impl ArgumentShape {
    /// Reads a shape: the text `any` or `ignore`, or a map with exactly one of `exact`, `subset`,
    /// `schema` and `one_of`. The elements of `one_of` are shapes; one that cannot be a shape is a
    /// value that the arguments may equal.
    ///
    /// ```
    /// use mcprove_score::agent::trajectory::ArgumentShape;
    /// use serde_json::json;
    ///
    /// let shape = ArgumentShape::from_value(&json!({"subset": {"city": "Sacramento"}})).unwrap();
    /// assert_eq!(shape, ArgumentShape::Subset(json!({"city": "Sacramento"})));
    /// let error = ArgumentShape::from_value(&json!({"subst": {}})).unwrap_err();
    /// assert_eq!(error, r#"no shape of arguments is called "subst"; did you mean "subset"?"#);
    /// ```
    pub fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(name) => match name.as_str() {
                "any" => Ok(Self::Any),
                "ignore" => Ok(Self::Ignore),
                _ => Err(unknown(name)),
            },
            Value::Object(fields) => Self::from_fields(fields),
            _ => Err(format!("it is {value}, {}", how_to())),
        }
    }

    fn from_fields(fields: &Map<String, Value>) -> Result<Self, String> {
        let mut fields = fields.iter();
        let (Some((name, given)), None) = (fields.next(), fields.next()) else {
            return Err(format!("the map must have exactly one key, {}", how_to()));
        };
        match name.replace('-', "_").as_str() {
            "exact" => Ok(Self::Exact(given.clone())),
            "subset" => Ok(Self::Subset(given.clone())),
            "schema" => Ok(Self::Schema(given.clone())),
            "one_of" => match given {
                Value::Array(items) => Self::one_of(items),
                _ => Err("one_of needs a list of shapes or values".into()),
            },
            "any" | "ignore" => Err(format!("write {name} as a text, not as a key")),
            _ => Err(unknown(name)),
        }
    }

    fn one_of(items: &[Value]) -> Result<Self, String> {
        if items.is_empty() {
            return Err(NO_ALTERNATIVES.into());
        }
        let alternatives = items.iter().map(|item| {
            if is_shape(item) {
                Self::from_value(item)
            } else {
                Ok(Self::Exact(item.clone()))
            }
        });
        Ok(Self::OneOf(alternatives.collect::<Result<_, _>>()?))
    }

    /// The shape as it is written.
    pub fn to_value(&self) -> Value {
        json!(self)
    }
}

const NO_ALTERNATIVES: &str = "one_of has no alternatives, so that no call can fit";

/// Whether an element of `one_of` is a shape, not a value.
fn is_shape(item: &Value) -> bool {
    match item {
        Value::String(name) => matches!(name.as_str(), "any" | "ignore"),
        Value::Object(fields) => {
            let name = fields.keys().next().map(|name| name.replace('-', "_"));
            fields.len() == 1
                && name.is_some_and(|name| {
                    matches!(name.as_str(), "exact" | "subset" | "schema" | "one_of")
                })
        }
        _ => false,
    }
}

fn unknown(name: &str) -> String {
    match nearest(NAMES.into_iter(), &name.replace('-', "_")) {
        Some(close) => format!("no shape of arguments is called {name:?}; did you mean {close:?}?"),
        None => format!("no shape of arguments is called {name:?}: {}", how_to()),
    }
}

fn how_to() -> &'static str {
    "write any, ignore, { exact: … }, { subset: … }, { schema: … } or { one_of: [ … ] }"
}

/// A shape that is ready to be compared with.
#[derive(Debug, Clone)]
pub enum Shape {
    /// Whatever the arguments are.
    Free,
    /// Equal to a value, which has this canonical text.
    Equal(Matcher, String),
    /// Any of these.
    AnyOf(Alternatives),
}

/// Several shapes, of which one is enough.
#[derive(Debug, Clone, Default)]
pub struct Alternatives {
    /// All of them.
    matchers: Vec<Matcher>,
    /// The canonical texts of those that must be equal: looked up, however many they are.
    equal: BTreeSet<String>,
    /// The places of the others.
    others: Vec<usize>,
}

impl Alternatives {
    fn accept(&self, arguments: &Value) -> bool {
        let is_equal =
            || !self.equal.is_empty() && self.equal.contains(&canonical::text(arguments));
        let others = self.others.iter();
        let mut others = others.filter_map(|place| self.matchers.get(*place));
        is_equal() || others.any(|matcher| matcher.is_match(arguments))
    }
}

impl Shape {
    /// Compiles a shape, with all its alternatives: what is wrong with one of them is told even if
    /// another fits anything.
    pub fn compile(shape: &ArgumentShape) -> Result<Self, MatcherError> {
        if let ArgumentShape::Exact(value) = shape {
            return Ok(Self::Equal(
                Matcher::new("exact", value)?,
                canonical::text(value),
            ));
        }
        let mut alternatives = Alternatives::default();
        let is_free = collect(shape, &mut alternatives)?;
        Ok(if is_free {
            Self::Free
        } else {
            Self::AnyOf(alternatives)
        })
    }

    /// Whether these arguments fit, where they are known.
    pub fn fit(&self, arguments: &Arguments) -> Fit {
        let fits = match (self, &arguments.0) {
            (Self::Free, _) => true,
            (_, None) => return Fit::Unknown,
            (Self::Equal(matcher, _), Some(value)) => matcher.is_match(value),
            (Self::AnyOf(alternatives), Some(value)) => alternatives.accept(value),
        };
        Fit::of(fits)
    }

    /// How arguments differ that do not fit: from each alternative.
    pub fn differences(&self, arguments: &Arguments) -> Vec<Difference> {
        let matchers = match self {
            Self::Free => return Vec::new(),
            Self::Equal(matcher, _) => std::slice::from_ref(matcher),
            Self::AnyOf(alternatives) => alternatives.matchers.as_slice(),
        };
        let Some(value) = &arguments.0 else {
            return Vec::new();
        };
        let differences = matchers
            .iter()
            .take(DIFFERENCES_KEPT)
            .filter_map(|matcher| {
                let mut difference = matcher.matches(value).err()?;
                difference.path.insert_str(0, "args");
                Some(difference)
            });
        differences.collect()
    }

    /// How many alternatives there are.
    pub fn alternatives(&self) -> usize {
        match self {
            Self::Free | Self::Equal(..) => 1,
            Self::AnyOf(alternatives) => alternatives.matchers.len(),
        }
    }

    /// How many comparisons it takes to tell whether arguments fit.
    pub fn comparisons(&self) -> usize {
        match self {
            Self::Free => 0,
            Self::Equal(..) => 1,
            Self::AnyOf(alternatives) => {
                alternatives.others.len() + usize::from(!alternatives.equal.is_empty())
            }
        }
    }
}

/// Adds the matchers of a shape; true if it fits anything.
fn collect(shape: &ArgumentShape, alternatives: &mut Alternatives) -> Result<bool, MatcherError> {
    let (name, value) = match shape {
        ArgumentShape::Any | ArgumentShape::Ignore => return Ok(true),
        ArgumentShape::Exact(value) => ("exact", value),
        ArgumentShape::Subset(value) => ("subset", value),
        ArgumentShape::Schema(value) => ("schema", value),
        ArgumentShape::OneOf(shapes) if shapes.is_empty() => {
            let hint = "name at least one, or write any";
            return Err(MatcherError::new(NO_ALTERNATIVES, hint));
        }
        ArgumentShape::OneOf(shapes) => {
            let mut is_free = false;
            for shape in shapes {
                is_free |= collect(shape, alternatives)?;
            }
            return Ok(is_free);
        }
    };
    if matches!(shape, ArgumentShape::Exact(_)) {
        alternatives.equal.insert(canonical::text(value));
    } else {
        alternatives.others.push(alternatives.matchers.len());
    }
    alternatives.matchers.push(Matcher::new(name, value)?);
    Ok(false)
}

/// The arguments of a recorded call, looked into once; `None` where they are unknown.
pub struct Arguments(Option<Value>);

impl Arguments {
    pub fn of(text: &Json) -> Self {
        Self((!text.is_null()).then(|| text.value()))
    }

    /// The canonical text.
    pub fn canonical(&self) -> Option<String> {
        self.0.as_ref().map(canonical::text)
    }
}

impl SettingType for ArgumentShape {
    const KIND: Kind = Kind::Other(
        "`any`, `ignore`, or one of `exact`, `subset`, `schema`, `one_of`",
        || json!({ "$ref": "#/$defs/shape" }),
    );

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let value = file::json(reader, &field.value)?;
        let how_to = "write { exact: { query: x } }, or leave `args` out where they do not matter";
        Self::from_value(&value)
            .map_err(|message| MatcherError::new(message, how_to))
            .and_then(|shape| check_schemas(&shape).map(|()| shape))
            .map_err(|error| {
                let hint = error.hint().to_owned();
                reader.problem(&field.value.span, format!("`args`: {error}"), hint);
            })
            .ok()
    }
}

/// What is wrong with a JSON Schema, and what to try: it would only show when a call is compared
/// with it.
fn check_schemas(shape: &ArgumentShape) -> Result<(), MatcherError> {
    match shape {
        ArgumentShape::Schema(schema) => Matcher::new("schema", schema).map(drop),
        ArgumentShape::OneOf(shapes) => shapes.iter().try_for_each(check_schemas),
        _ => Ok(()),
    }
}

/// The JSON Schema of a shape.
pub fn shape_schema() -> Value {
    let (any, schema) = (json!({}), json!({ "type": ["object", "boolean"] }));
    let keys = [
        ("exact", any.clone(), "the arguments are equal to this"),
        ("subset", any, "the arguments have this in them"),
        (
            "schema",
            schema,
            "the arguments are valid by this JSON Schema",
        ),
        (
            "one_of",
            json!({ "type": "array" }),
            "the arguments are of one of these shapes, or equal to one of these values",
        ),
    ];
    json!({
        "description": "What the arguments of a call must be",
        "anyOf": [{ "enum": ["any", "ignore"] }, file::one_key(keys)],
    })
}
