//! Answers that say that a call failed.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::{RpcError, parse_bounded};
use crate::prelude::*;

/// How much of what the server says of an error goes into its message.
const SAID_CHARACTERS_MAX: usize = 500;

/// Why an answer means that its call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAnswer {
    /// The one category that it counts in.
    pub category: ErrorCategory,
    /// What happened, for people.
    pub message: String,
}

/// Looks for the key that makes a result a failure; made once, for each result is searched.
static IS_ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"isError\""));

impl FailedAnswer {
    /// What a JSON-RPC error means for the call that it ends.
    pub fn of_error(error: &RpcError) -> Self {
        let said = shorten(&error.message, SAID_CHARACTERS_MAX);
        Self {
            category: ErrorCategory::from_code(error.code),
            message: format!("{said} (code {})", error.code),
        }
    }

    /// Why the result of a tool is a failure, as far as that can be told at no cost; `None` when the call
    /// succeeded.
    pub fn of_tool_result(result: &str) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct ToolResult<'a> {
            #[serde(borrow, default, rename = "isError")]
            is_error: Option<&'a RawValue>,
            #[serde(borrow)]
            content: Option<&'a RawValue>,
        }
        let malformed = |message: &str| {
            Some(Self {
                category: ErrorCategory::Malformed,
                message: message.to_owned(),
            })
        };
        if !result.starts_with('{') {
            return malformed("the result is not an object");
        }
        // Most results have no such key at all, and then nothing needs to be parsed.
        IS_ERROR.find(result.as_bytes())?;
        let parsed: ToolResult<'_> = serde_json::from_str(result).ok()?;
        match parsed.is_error.map(RawValue::get) {
            None | Some("false") => return None,
            Some("true") => {}
            Some(_) => return malformed("`isError` is neither true nor false"),
        }
        let content = parsed
            .content
            .and_then(|raw| parse_bounded::<Value>(raw.get()).ok());
        let text = content
            .as_ref()
            .and_then(Value::as_array)
            .and_then(|blocks| blocks.iter().find_map(|block| block.get("text")?.as_str()))
            .unwrap_or("the tool reported an error without a text");
        Some(Self {
            category: ErrorCategory::ToolError,
            message: shorten(text, SAID_CHARACTERS_MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_result_of_a_tool_is_told_at_no_cost() {
        use ErrorCategory::{Malformed, ToolError};
        let cases = [
            ("5", Some(Malformed)),
            ("null", Some(Malformed)),
            ("\"x\"", Some(Malformed)),
            ("[]", Some(Malformed)),
            (r#"{"content":[],"isError":"yes"}"#, Some(Malformed)),
            (r#"{"content":[],"isError":1}"#, Some(Malformed)),
            (r#"{"content":[],"isError":true}"#, Some(ToolError)),
            (r#"{"content":[],"isError": false}"#, None),
            (r#"{"content":[]}"#, None),
            // In a place of its own it means nothing.
            (r#"{"content":[{"isError":"yes"}]}"#, None),
        ];
        for (result, expected) in cases {
            let category = FailedAnswer::of_tool_result(result).map(|failure| failure.category);
            assert_eq!(category, expected, "{result}");
        }
    }
}
