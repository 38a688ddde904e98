//! What a bad request is made from, and what it is.

use crate::prelude::*;

/// The types that a map is not of.
const JSON_TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "array", "null"];

/// How much is told of a schema that is none.
const SCHEMA_CHARACTERS_MAX: usize = 60;

static ANYTHING: Value = Value::Bool(true);

/// A tool that is to be asked badly.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Its name.
    pub tool: &'a str,
    /// The names of all tools of its server.
    pub tools: BTreeSet<&'a str>,
    /// The schema of its arguments.
    pub schema: &'a Value,
    /// Arguments that its schema accepts.
    pub arguments: Map<String, Value>,
    /// Whether they are other than those that were given, which do not fit the schema.
    pub are_made_up: bool,
    check: Option<SchemaCheck>,
    /// Why nothing is known of what its schema accepts.
    pub unreadable: Option<String>,
}

/// Why a tool cannot be asked badly: nothing could be said of what its schema accepts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// It has none.
    #[error("the tool has no inputSchema, which the protocol asks for")]
    NoSchema,
    /// It is no map.
    #[error("the schema is {0}, but must be a map with `type: object`")]
    NoObject(String),
    /// Its schema is none, or too large to be looked at.
    #[error("{0}")]
    Schema(ArgumentsError),
    /// It describes something else than arguments, which are a map.
    #[error("the schema is of the type {0}, but arguments are of the type object")]
    NoMap(Value),
    /// The given arguments do not fit its schema, and none could be made that do.
    #[error("the arguments do not fit the schema ({misfit}), and none could be made: {error}")]
    Arguments {
        /// Where and why they do not fit.
        misfit: String,
        /// Why none could be made.
        error: ArgumentsError,
    },
}

/// A request that a tool must reject.
#[derive(Debug, Clone, PartialEq)]
pub struct BadRequest {
    /// The tool that is called.
    pub tool: String,
    /// With these arguments.
    pub arguments: Value,
    /// What is bad about it: `without the required argument "q"`.
    pub what: String,
}

/// Why a probe does not apply to a tool.
pub type NotApplicable = String;

impl SubjectError {
    /// Whether the schema itself is to blame, and not a limit of ours or the given arguments.
    pub const fn is_invalid_schema(&self) -> bool {
        matches!(
            self,
            Self::NoSchema
                | Self::NoObject(_)
                | Self::NoMap(_)
                | Self::Schema(
                    ArgumentsError::InvalidSchema { .. }
                        | ArgumentsError::UnresolvedReference { .. }
                )
        )
    }
}

impl<'a> Subject<'a> {
    /// A tool of a server that has these tools. Where the arguments do not fit the schema, others are made
    /// from it: what is wrong with a bad request must be one thing only.
    pub fn new(
        tool: &'a str,
        tools: impl IntoIterator<Item = &'a str>,
        schema: &'a Value,
        given: &Value,
    ) -> Result<Self, SubjectError> {
        if schema.is_null() {
            return Err(SubjectError::NoSchema);
        }
        if !schema.is_object() {
            let shown = shorten(&schema.to_string(), SCHEMA_CHARACTERS_MAX);
            return Err(SubjectError::NoObject(shown));
        }
        let is_other = |name: &Value| name.as_str().is_some_and(|name| JSON_TYPES.contains(&name));
        let is_no_map = |kind: &&Value| match kind {
            Value::Array(names) => !names.is_empty() && names.iter().all(is_other),
            name => is_other(name),
        };
        if let Some(kind) = schema.get("type").filter(is_no_map) {
            return Err(SubjectError::NoMap(kind.clone()));
        }
        let check = SchemaCheck::new(schema).map_err(SubjectError::Schema)?;
        let misfit = match given {
            Value::Object(_) => check.failure(given),
            _ => Some("they are not a map".to_owned()),
        };
        let are_made_up = misfit.is_some();
        let arguments = match misfit {
            None => given.clone(),
            Some(misfit) => arguments::minimal(schema)
                .map_err(|error| SubjectError::Arguments { misfit, error })?,
        };
        let Value::Object(arguments) = arguments else {
            // What is made is always a map.
            let error = ArgumentsError::Unsatisfiable {
                place: String::new(),
                reason: "arguments are a map".to_owned(),
                hint: "give the arguments by hand".into(),
            };
            return Err(SubjectError::Schema(error));
        };
        Ok(Self {
            tool,
            tools: tools.into_iter().collect(),
            schema,
            arguments,
            are_made_up,
            check: Some(check),
            unreadable: None,
        })
    }

    /// A tool of whose schema little can be said, for this reason: only probes apply that need none, or, where
    /// there is a schema, no more than the names that it requires.
    pub fn unreadable(
        tool: &'a str,
        tools: impl IntoIterator<Item = &'a str>,
        schema: Option<&'a Value>,
        given: &Value,
        reason: String,
    ) -> Self {
        Self {
            tool,
            tools: tools.into_iter().collect(),
            schema: schema.unwrap_or(&ANYTHING),
            arguments: given.as_object().cloned().unwrap_or_default(),
            are_made_up: false,
            check: None,
            unreadable: Some(reason),
        }
    }

    /// Whether the schema does not accept these arguments.
    pub fn rejects(&self, arguments: &Map<String, Value>) -> bool {
        let arguments = Value::Object(arguments.clone());
        let check = self.check.as_ref();
        check.is_some_and(|check| check.failure(&arguments).is_some())
    }

    /// The names that a plain `required` at the top of the schema has, of arguments that are there.
    fn required(&self) -> impl Iterator<Item = &str> {
        self.schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|name| self.arguments.contains_key(*name))
    }

    /// The first of them.
    pub fn plainly_required(&self) -> Option<&str> {
        self.required().next()
    }

    /// Whether a schema is there, whatever can be said of it.
    pub fn has_schema(&self) -> bool {
        self.schema.is_object()
    }

    /// The names of arguments, those that are required first, then those that the schema tells of: in its
    /// own order, each once.
    pub fn names(&self) -> Vec<&str> {
        let properties = self
            .schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys);
        let others = self.arguments.keys().chain(properties);
        let mut seen = BTreeSet::new();
        self.required()
            .chain(others.map(String::as_str))
            .filter(|name| seen.insert(*name))
            .collect()
    }

    /// The arguments with another value for one of them.
    pub fn with(&self, name: &str, value: Value) -> Map<String, Value> {
        let mut arguments = self.arguments.clone();
        arguments.insert(name.to_owned(), value);
        arguments
    }

    /// A name for a field that neither the schema nor the arguments have.
    pub fn unused_name(&self, wanted: &str) -> String {
        unused(wanted, &self.names().into_iter().collect())
    }

    /// A call of the tool with these arguments.
    pub fn request(&self, arguments: Map<String, Value>, what: String) -> BadRequest {
        BadRequest {
            tool: self.tool.to_owned(),
            arguments: Value::Object(arguments),
            what,
        }
    }
}

/// The name, or with a number behind it the first that is not taken.
pub fn unused(wanted: &str, taken: &BTreeSet<&str>) -> String {
    let mut numbers = 2_u64..;
    let mut name = wanted.to_owned();
    while taken.contains(name.as_str())
        && let Some(number) = numbers.next()
    {
        name = format!("{wanted}_{number}");
    }
    name
}
