//! What the arguments of an expected call must look like.

use super::prelude::*;

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
        let (name, given) = match value {
            Value::String(name) => (name, None),
            Value::Object(fields) => {
                let mut fields = fields.iter();
                match (fields.next(), fields.next()) {
                    (Some((name, given)), None) => (name, Some(given)),
                    _ => return Err(format!("the map must have exactly one key, {HOW_TO}")),
                }
            }
            _ => return Err(format!("it is {value}, {HOW_TO}")),
        };
        match (name.replace('-', "_").as_str(), given) {
            ("any", None) => Ok(Self::Any),
            ("ignore", None) => Ok(Self::Ignore),
            ("any" | "ignore", Some(_)) => Err(format!("write {name} as a text, not as a key")),
            ("exact", Some(given)) => Ok(Self::Exact(given.clone())),
            ("subset", Some(given)) => Ok(Self::Subset(given.clone())),
            ("schema", Some(given)) => Ok(Self::Schema(given.clone())),
            ("one_of", Some(Value::Array(items))) if items.is_empty() => {
                Err(NO_ALTERNATIVES.into())
            }
            ("one_of", Some(Value::Array(items))) => {
                let alternatives = items.iter().map(|item| {
                    if is_shape(item) {
                        Self::from_value(item)
                    } else {
                        Ok(Self::Exact(item.clone()))
                    }
                });
                alternatives.collect::<Result<_, _>>().map(Self::OneOf)
            }
            ("one_of", Some(_)) => Err("one_of needs a list of shapes or values".into()),
            (normal, _) => Err(match nearest(NAMES.into_iter(), normal) {
                Some(close) => {
                    format!("no shape of arguments is called {name:?}; did you mean {close:?}?")
                }
                None => format!("no shape of arguments is called {name:?}: {HOW_TO}"),
            }),
        }
    }

    /// The shape as it is written.
    pub fn to_value(&self) -> Value {
        json!(self)
    }
}

const NO_ALTERNATIVES: &str = "one_of has no alternatives, so that no call can fit";

const HOW_TO: &str =
    "write any, ignore, { exact: … }, { subset: … }, { schema: … } or { one_of: [ … ] }";

/// Whether an element of `one_of` is a shape, not a value.
fn is_shape(item: &Value) -> bool {
    let (texts, keys) = NAMES.split_at(2);
    match item {
        Value::String(name) => texts.contains(&name.as_str()),
        Value::Object(fields) => {
            let is_key = |name: &String| keys.contains(&name.replace('-', "_").as_str());
            fields.len() == 1 && fields.keys().all(is_key)
        }
        _ => false,
    }
}

/// A shape that is ready to be compared with: some alternatives, of which one is enough.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// Whether it fits whatever the arguments are; the rest does not matter then.
    pub is_free: bool,
    /// All alternatives.
    matchers: Vec<Matcher>,
    /// The canonical texts of those that must be equal: looked up, however many they are.
    equal: BTreeSet<String>,
    /// The places of the others.
    others: Vec<usize>,
}

impl Shape {
    /// Compiles a shape, with all its alternatives: what is wrong with one of them is told even if
    /// another fits anything.
    pub fn compile(shape: &ArgumentShape) -> DiagnosticResult<Self> {
        let mut compiled = Self::default();
        compiled.add(shape)?;
        Ok(compiled)
    }

    fn add(&mut self, shape: &ArgumentShape) -> DiagnosticResult {
        let (name, value) = match shape {
            ArgumentShape::Any | ArgumentShape::Ignore => {
                self.is_free = true;
                return Ok(());
            }
            ArgumentShape::OneOf(shapes) if shapes.is_empty() => {
                let hint = "name at least one, or write any";
                return Err(Diagnostic::new(NO_ALTERNATIVES, hint));
            }
            ArgumentShape::OneOf(shapes) => {
                return shapes.iter().try_for_each(|shape| self.add(shape));
            }
            ArgumentShape::Exact(value) => ("exact", value),
            ArgumentShape::Subset(value) => ("subset", value),
            ArgumentShape::Schema(value) => ("schema", value),
        };
        if name == "exact" {
            self.equal.insert(canonical::text(value));
        } else {
            self.others.push(self.matchers.len());
        }
        self.matchers.push(Matcher::new(name, value)?);
        Ok(())
    }

    /// The canonical text of the only value that fits, where there is only one.
    pub fn only_value(&self) -> Option<&str> {
        let is_only = !self.is_free && self.matchers.len() == 1;
        self.equal.first().filter(|_| is_only).map(String::as_str)
    }

    /// Whether these arguments fit, where they are known.
    pub fn fit(&self, arguments: Option<&Value>) -> Fit {
        match arguments {
            _ if self.is_free => Fit::Yes,
            None => Fit::Unknown,
            Some(value) => {
                let is_equal =
                    || !self.equal.is_empty() && self.equal.contains(&canonical::text(value));
                let mut others = self.others.iter().map(|place| &self.matchers[*place]);
                Fit::of(is_equal() || others.any(|matcher| matcher.is_match(value)))
            }
        }
    }

    /// How arguments differ that do not fit: from each alternative.
    pub fn differences(&self, arguments: &Value) -> Vec<Difference> {
        let differences = self
            .matchers
            .iter()
            .take(DIFFERENCES_KEPT)
            .filter_map(|matcher| matcher.matches(arguments).err());
        differences
            .map(|difference| Difference {
                path: format!("args{}", difference.path),
                ..difference
            })
            .collect()
    }

    /// How many alternatives there are.
    pub fn alternatives(&self) -> usize {
        self.matchers.len()
    }

    /// How many comparisons it takes to tell whether arguments fit.
    pub fn cost(&self) -> usize {
        if self.is_free {
            return 0;
        }
        self.others.len() + usize::from(!self.equal.is_empty())
    }
}

/// The arguments of a recorded call; `None` where they are unknown.
pub fn arguments_of(call: &ToolCall) -> Option<Value> {
    (!call.args.is_null()).then(|| call.args.value())
}

impl SettingType for ArgumentShape {
    const KIND: Kind = Kind::Other(
        "`any`, `ignore`, or one of `exact`, `subset`, `schema`, `one_of`",
        || json!({ "$ref": "#/$defs/shape" }),
    );

    fn read(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Self> {
        let value = reader.json_of(&field.value)?;
        let how_to = sentence!(
            "write {{ exact: {{ query: x }} }}, or leave `args` out where they do not matter"
        );
        let shape = Self::from_value(&value)
            .map_err(|message| Diagnostic::new(message, how_to))
            .and_then(|shape| Shape::compile(&shape).map(|_| shape));
        shape
            .map_err(|error| {
                let message = sentence!("`args`: {}", error.sentence());
                reader.problem(&field.value.span, message, error.hint);
            })
            .ok()
    }
}
