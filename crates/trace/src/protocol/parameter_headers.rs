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
const SAFE_INTEGER_MAX: f64 = 9_007_199_254_740_991.0;

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
    let is_printable = value.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
    let is_padded = value.starts_with(' ') || value.ends_with(' ');
    let looks_encoded = value.starts_with(BASE64_PREFIX) && value.ends_with(BASE64_SUFFIX);
    if is_printable && !is_padded && !looks_encoded {
        value.to_owned()
    } else {
        format!("{BASE64_PREFIX}{}{BASE64_SUFFIX}", STANDARD.encode(value))
    }
}

/// Why a tool definition must be left out of the tool list, after a JSON pointer into the `inputSchema`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: x-mcp-header {reason}")]
pub struct InvalidParameterHeader {
    place: String,
    reason: String,
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
    /// The property names that lead to each value, and the header that repeats it.
    headers: Vec<(Vec<String>, String)>,
}

impl ParameterHeaders {
    /// Reads the annotations of an `inputSchema` and checks every rule about them.
    pub fn from_schema(schema: &Value) -> Result<Self, InvalidParameterHeader> {
        let mut found = Self::default();
        found.visit(schema, "", Some(&[]))?;
        found.headers.sort();
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
            .filter_map(|(path, header)| {
                let value = path
                    .iter()
                    .try_fold(arguments, |value, name| value.get(name))?;
                let text = primitive_text(value)?;
                Some((header.clone(), encode_header_value(&text)))
            })
            .collect()
    }

    /// Looks at a schema and everything below it, which is no deeper than what a parser takes. `path` has the
    /// property names that lead here, while `properties` alone lead here.
    fn visit(
        &mut self,
        schema: &Value,
        place: &str,
        path: Option<&[String]>,
    ) -> Result<(), InvalidParameterHeader> {
        if let Some(name) = schema.get(KEYWORD) {
            let kind = schema.get("type");
            let place = place.to_owned();
            self.add(name, kind, path)
                .map_err(|reason| InvalidParameterHeader { place, reason })?;
        }
        match schema {
            Value::Object(keywords) => {
                for (keyword, value) in keywords {
                    let is_among = |names: &[&str]| names.contains(&keyword.as_str());
                    if is_among(&DATA_KEYWORDS) {
                        continue;
                    }
                    let place = format!("{place}/{}", escape(keyword));
                    let named = is_among(&NAMED_SCHEMA_KEYWORDS);
                    let Some(schemas) = value.as_object().filter(|_| named) else {
                        self.visit(value, &place, None)?;
                        continue;
                    };
                    for (name, schema) in schemas {
                        let place = format!("{place}/{}", escape(name));
                        let path = path.filter(|_| keyword == "properties");
                        let path = path.map(|path| [path, &[name.clone()]].concat());
                        self.visit(schema, &place, path.as_deref())?;
                    }
                }
            }
            Value::Array(schemas) => {
                for (index, schema) in schemas.iter().enumerate() {
                    self.visit(schema, &format!("{place}/{index}"), None)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes up an annotation of a property of this type, or says what is wrong with it.
    fn add(
        &mut self,
        name: &Value,
        kind: Option<&Value>,
        path: Option<&[String]>,
    ) -> Result<(), String> {
        let Some(path @ [_, ..]) = path else {
            return Err("here is not reached from the root by `properties` alone".to_owned());
        };
        let Some(name) = name.as_str() else {
            return Err("is not a string; name the header with one".to_owned());
        };
        if name.is_empty() {
            return Err("is empty; name the header with at least one character".to_owned());
        }
        if !name.bytes().all(is_token_byte) {
            return Err(format!(
                "{name:?} is not an HTTP token; use letters, digits and !#$%&'*+-.^_`|~"
            ));
        }
        let header = format!("{NAME_PREFIX}{name}");
        let mut others = self.headers.iter();
        if others.any(|(_, other)| other.eq_ignore_ascii_case(&header)) {
            return Err(format!("{name:?} is used twice; header names ignore case"));
        }
        let is_primitive = |kind: &str| matches!(kind, "string" | "integer" | "boolean");
        if !kind.and_then(Value::as_str).is_some_and(is_primitive) {
            let found = kind.map_or("none".to_owned(), Value::to_string);
            return Err(format!(
                "on type {found}; only string, integer and boolean may have it"
            ));
        }
        self.headers.push((path.to_owned(), header));
        Ok(())
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
            // `42.0` is the integer 42 in JSON Schema, and minus zero is zero.
            let number = number.as_f64()? + 0.0;
            let is_whole = number.fract() == 0.0 && number.abs() <= SAFE_INTEGER_MAX;
            is_whole.then(|| number.to_string())
        }
        _ => None,
    }
}
