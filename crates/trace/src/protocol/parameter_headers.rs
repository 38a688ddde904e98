//! Tool arguments that travel as HTTP headers too: `x-mcp-header`, from revision 2026-07-28.
//!
//! A server annotates a property of a tool's `inputSchema`; a client over Streamable HTTP repeats
//! the argument as `Mcp-Param-{name}`. The tool list comes before: a tool whose annotations break a
//! rule must be left out of it. The HTTP transport comes after: it adds what is extracted here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The keyword that asks for a header.
const KEYWORD: &str = "x-mcp-header";
/// What every header name starts with.
const NAME_PREFIX: &str = "Mcp-Param-";
const BASE64_PREFIX: &str = "=?base64?";
const BASE64_SUFFIX: &str = "?=";
/// The largest integer that a double holds exactly, with all integers below it: 2^53 - 1.
const SAFE_INTEGER_MAX: i64 = (1 << 53) - 1;
const SAFE_INTEGER_MAX_FLOAT: f64 = 9_007_199_254_740_991.0;

/// Keywords whose value is data, not schema: what looks like an annotation there is none.
const DATA_KEYWORDS: [&str; 5] = ["const", "default", "enum", "example", "examples"];
/// Keywords whose value maps free names to schemas: the names are no keywords.
const NAMED_SCHEMA_KEYWORDS: [&str; 7] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// Writes a text so that any HTTP header carries it unchanged.
///
/// Plain text stays as it is. What a header cannot carry, or what would be taken for an encoded
/// value, becomes `=?base64?…?=`. A tab inside the text is legal in a header, yet it is encoded as
/// well: intermediaries are free to replace it by a space, and every server has to decode.
///
/// ```
/// use mcprove_trace::protocol::encode_header_value;
///
/// assert_eq!(encode_header_value("us-west1"), "us-west1");
/// assert_eq!(encode_header_value(" padded "), "=?base64?IHBhZGRlZCA=?=");
/// ```
pub fn encode_header_value(value: &str) -> String {
    if is_plain(value) {
        value.to_owned()
    } else {
        format!("{BASE64_PREFIX}{}{BASE64_SUFFIX}", STANDARD.encode(value))
    }
}

fn is_plain(value: &str) -> bool {
    let printable = value.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
    let padded = value.starts_with(' ') || value.ends_with(' ');
    let looks_encoded = value.starts_with(BASE64_PREFIX) && value.ends_with(BASE64_SUFFIX);
    printable && !padded && !looks_encoded
}

/// Why a tool definition must be left out of the tool list.
///
/// Every `place` is a JSON pointer into the `inputSchema`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidParameterHeader {
    /// The annotation is no text.
    #[error("{place}: x-mcp-header is not a string; name the header with one")]
    NotText {
        /// The annotated schema.
        place: String,
    },
    /// The annotation is the empty text.
    #[error("{place}: x-mcp-header is empty; name the header with at least one character")]
    Empty {
        /// The annotated schema.
        place: String,
    },
    /// The name has a character that no header name may have.
    #[error(
        "{place}: x-mcp-header {name:?} is not an HTTP token; use letters, digits and !#$%&'*+-.^_`|~"
    )]
    NotToken {
        /// The annotated schema.
        place: String,
        /// The name as the server wrote it.
        name: String,
    },
    /// Another annotation has the same name; case does not count.
    #[error("{place}: x-mcp-header {name:?} is used twice; header names ignore case")]
    Duplicate {
        /// The second annotated schema.
        place: String,
        /// The name as the second schema wrote it.
        name: String,
    },
    /// The property is no string, integer or boolean.
    #[error("{place}: x-mcp-header on type {found}; only string, integer and boolean may have it")]
    NotPrimitive {
        /// The annotated schema.
        place: String,
        /// The type as JSON, or `none`.
        found: String,
    },
    /// The annotation is not on a property that `properties` alone lead to.
    #[error("{place}: x-mcp-header here is not reached from the root by `properties` alone")]
    Unreachable {
        /// The annotated schema.
        place: String,
    },
}

/// One annotated property: where its value is, and the header that repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ParameterHeader {
    path: Vec<String>,
    header_name: String,
}

/// The headers that a tool's `inputSchema` asks for.
///
/// ```
/// use mcprove_trace::protocol::ParameterHeaders;
/// use serde_json::json;
///
/// let schema = json!({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
/// let headers = ParameterHeaders::from_schema(&schema).unwrap();
/// let found = headers.extract(&json!({"region": "us-west1"}));
/// assert_eq!(found, [("Mcp-Param-Region".to_owned(), "us-west1".to_owned())]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParameterHeaders {
    headers: Vec<ParameterHeader>,
}

/// A schema still to be looked at.
struct Visit<'schema> {
    schema: &'schema Value,
    place: String,
    /// The property names that lead here, while `properties` alone lead here.
    path: Option<Vec<String>>,
}

impl ParameterHeaders {
    /// Reads the annotations of an `inputSchema` and checks every rule about them.
    pub fn from_schema(schema: &Value) -> Result<Self, InvalidParameterHeader> {
        let mut found = Self::default();
        // A stack of our own: a peer chooses how deep its schema is.
        let mut visits = vec![Visit {
            schema,
            place: String::new(),
            path: Some(Vec::new()),
        }];
        while let Some(visit) = visits.pop() {
            if visit.schema.get(KEYWORD).is_some() {
                found.add(&visit)?;
            }
            push_parts(&visit, &mut visits);
        }
        found
            .headers
            .sort_by(|left, right| left.path.cmp(&right.path));
        Ok(found)
    }

    /// Whether the tool asks for no header at all.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// The headers for one call, full names with encoded values, in the order of the properties.
    ///
    /// A value that is absent or null has no header. Nor has a value that no header may repeat: an
    /// array, an object, a fraction, an integer beyond 2^53 - 1.
    pub fn extract(&self, arguments: &Value) -> Vec<(String, String)> {
        self.headers
            .iter()
            .filter_map(|header| {
                let value = header
                    .path
                    .iter()
                    .try_fold(arguments, |value, name| value.get(name))?;
                let text = primitive_text(value)?;
                Some((header.header_name.clone(), encode_header_value(&text)))
            })
            .collect()
    }

    fn add(&mut self, visit: &Visit<'_>) -> Result<(), InvalidParameterHeader> {
        let place = visit.place.clone();
        let Some(path) = visit.path.as_ref().filter(|path| !path.is_empty()) else {
            return Err(InvalidParameterHeader::Unreachable { place });
        };
        let Some(name) = visit.schema.get(KEYWORD).and_then(Value::as_str) else {
            return Err(InvalidParameterHeader::NotText { place });
        };
        if name.is_empty() {
            return Err(InvalidParameterHeader::Empty { place });
        }
        let name = name.to_owned();
        if !name.bytes().all(is_token_byte) {
            return Err(InvalidParameterHeader::NotToken { place, name });
        }
        let header_name = format!("{NAME_PREFIX}{name}");
        if self
            .headers
            .iter()
            .any(|header| header.header_name.eq_ignore_ascii_case(&header_name))
        {
            return Err(InvalidParameterHeader::Duplicate { place, name });
        }
        let kind = visit.schema.get("type");
        if !matches!(
            kind.and_then(Value::as_str),
            Some("string" | "integer" | "boolean")
        ) {
            let found = kind.map_or_else(|| "none".to_owned(), Value::to_string);
            return Err(InvalidParameterHeader::NotPrimitive { place, found });
        }
        self.headers.push(ParameterHeader {
            path: path.clone(),
            header_name,
        });
        Ok(())
    }
}

/// Puts everything below a schema on the stack.
fn push_parts<'schema>(visit: &Visit<'schema>, visits: &mut Vec<Visit<'schema>>) {
    match visit.schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                if DATA_KEYWORDS.contains(&keyword.as_str()) {
                    continue;
                }
                let place = format!("{}/{}", visit.place, escape(keyword));
                let named = NAMED_SCHEMA_KEYWORDS.contains(&keyword.as_str());
                let Some(schemas) = value.as_object().filter(|_| named) else {
                    visits.push(Visit {
                        schema: value,
                        place,
                        path: None,
                    });
                    continue;
                };
                for (name, schema) in schemas {
                    let path = visit.path.as_ref().filter(|_| keyword == "properties");
                    visits.push(Visit {
                        schema,
                        place: format!("{place}/{}", escape(name)),
                        path: path.map(|path| {
                            let mut path = path.clone();
                            path.push(name.clone());
                            path
                        }),
                    });
                }
            }
        }
        Value::Array(schemas) => {
            for (index, schema) in schemas.iter().enumerate() {
                visits.push(Visit {
                    schema,
                    place: format!("{}/{index}", visit.place),
                    path: None,
                });
            }
        }
        _ => {}
    }
}

/// A name as a step of a JSON pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// `tchar` of RFC 9110.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn primitive_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => {
            let integer = match number.as_i64() {
                Some(integer) => integer,
                None => whole(number.as_f64()?)?,
            };
            (-SAFE_INTEGER_MAX..=SAFE_INTEGER_MAX)
                .contains(&integer)
                .then(|| integer.to_string())
        }
        _ => None,
    }
}

/// `42.0` is the integer 42 in JSON Schema.
#[allow(clippy::cast_possible_truncation)]
fn whole(number: f64) -> Option<i64> {
    // Within these bounds a whole double converts without loss.
    (number.fract() == 0.0 && number.abs() <= SAFE_INTEGER_MAX_FLOAT).then_some(number as i64)
}
