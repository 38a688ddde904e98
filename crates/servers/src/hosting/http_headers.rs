//! The headers that repeat what the body of a stateless request says, and must not contradict it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::prelude::*;

/// The revision, on every request after the handshake.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The session, from `initialize` on.
pub const SESSION_ID: &str = "mcp-session-id";
/// The last event that a client saw of the stream that it wants the rest of.
pub const LAST_EVENT_ID: &str = "last-event-id";

const ENCODED_START: &str = "=?base64?";
const ENCODED_END: &str = "?=";

/// How deep in objects arguments are looked for that headers repeat.
const ARGUMENT_DEPTH_MAX: usize = 32;

/// Compares the headers of a stateless request with its body. `tools` are as they are listed.
pub fn check(
    caller: &Caller,
    request: &Request,
    tools: impl Fn() -> Vec<Value>,
) -> Result<(), Refusal> {
    if let Some(version) = request.meta(META_VERSION).and_then(Value::as_str) {
        let header = caller.header(PROTOCOL_VERSION);
        compare("MCP-Protocol-Version", header, version)?;
    }
    compare("Mcp-Method", caller.header("mcp-method"), &request.method)?;
    let source = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(()),
    };
    let Some(name) = request.text(source) else {
        return Ok(());
    };
    compare_encoded("Mcp-Name", caller, name)?;
    if let (Some(Value::Object(arguments)), "tools/call") =
        (request.params.get("arguments"), request.method.as_str())
        && let Some(tool) = tools().into_iter().find(|tool| tool["name"] == name)
    {
        let schema = &tool["inputSchema"];
        check_arguments(caller, schema, arguments, ARGUMENT_DEPTH_MAX)?;
    }
    Ok(())
}

/// Compares the arguments that the tool's schema wants repeated in headers.
fn check_arguments(
    caller: &Caller,
    schema: &Value,
    arguments: &Fields,
    depth: usize,
) -> Result<(), Refusal> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let value = arguments.get(name);
        if let (Some(Value::Object(inner)), 1..) = (value, depth) {
            check_arguments(caller, property, inner, depth - 1)?;
        }
        let Some(header) = property.get("x-mcp-header").and_then(Value::as_str) else {
            continue;
        };
        let header = format!("Mcp-Param-{header}");
        let expected = match value {
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            _ => continue,
        };
        compare_encoded(&header, caller, &expected)?;
    }
    Ok(())
}

/// Compares a header that may be encoded.
fn compare_encoded(header: &str, caller: &Caller, expected: &str) -> Result<(), Refusal> {
    match caller.header(&header.to_ascii_lowercase()).map(decode) {
        Some(None) => Err(mismatch(&format!("{header} is not valid Base64"))),
        Some(Some(value)) => compare(header, Some(&value), expected),
        None => compare(header, None, expected),
    }
}

fn compare(header: &str, value: Option<&str>, expected: &str) -> Result<(), Refusal> {
    match value {
        None => Err(mismatch(&format!("{header} is missing"))),
        Some(value) if value == expected => Ok(()),
        Some(value) => Err(mismatch(&format!(
            "{header} header value '{value}' does not match body value '{expected}'"
        ))),
    }
}

fn mismatch(problem: &str) -> Refusal {
    Refusal::new(HEADER_MISMATCH, format!("Header mismatch: {problem}"))
}

/// A header value that may be encoded for characters that headers cannot carry.
fn decode(value: &str) -> Option<String> {
    let encoded = value
        .strip_prefix(ENCODED_START)
        .and_then(|rest| rest.strip_suffix(ENCODED_END));
    match encoded {
        None => Some(value.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn names_that_headers_cannot_carry_are_decoded() {
        assert_eq!(decode("plain").as_deref(), Some("plain"));
        let greeting = decode("=?base64?SGVsbG8sIOS4lueVjA==?=");
        assert_eq!(greeting.as_deref(), Some("Hello, 世界"));
        assert_eq!(decode("=?base64?!?="), None);
        assert_eq!(decode("=?base64?SGVsbG8?="), None);
    }
}
