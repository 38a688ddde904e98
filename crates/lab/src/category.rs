//! The kinds of errors, as the audit names them.

use crate::prelude::*;

/// What is no error of a tool, a deadline or a key.
pub const PROTOCOL: &str = "protocol";
/// What a tool says that went wrong.
pub const TOOL: &str = "tool";
/// What took too long.
pub const TIMEOUT: &str = "timeout";
/// A refused key.
pub const AUTH: &str = "auth";
/// What was given up before its answer.
pub const CANCELLED: &str = "cancelled";

/// Every category that a row may have.
pub const ALL: [&str; 5] = [PROTOCOL, TOOL, TIMEOUT, AUTH, CANCELLED];

/// Those that the tool `error` can be asked for, and their codes.
pub const CODES: [(&str, i64); 4] = [
    (PROTOCOL, -32_600),
    (TOOL, -32_000),
    (TIMEOUT, -32_001),
    (AUTH, -32_003),
];

/// The code of a category that can be asked for.
pub fn code(category: &str) -> Option<i64> {
    CODES
        .iter()
        .find(|(name, _)| *name == category)
        .map(|(_, code)| *code)
}

/// The category of an error with this code.
pub fn of_code(code: Option<i64>) -> &'static str {
    CODES
        .iter()
        .find(|(_, known)| Some(*known) == code)
        .map_or(PROTOCOL, |(name, _)| name)
}

/// The category that a call of the tool `error` asks for. What asks for none that there is breaks the
/// protocol.
pub fn asked_for(tool: &str, arguments: &Value) -> Option<&'static str> {
    let category = arguments.get("category").filter(|_| tool == "error")?;
    Some(of_code(code(category.as_str()?)))
}
