//! Calls of tools whose arguments are not what they should be.

use super::{Due, Payload, payload};
use crate::drive::scenario::fuzzer::frame::Frame;

/// How long the giant text is.
const GIANT_BYTES: usize = 1024 * 1024;
/// How deep the deep value is nested.
const DEPTH: usize = 20_000;

/// The payloads.
pub(super) const PAYLOADS: &[Payload] = &[
    payload!(
        "unknown_tool",
        "a call of a tool that does not exist",
        Due::Yes,
        "",
        |frame| {
            let params = frame.params(r#""name":"mcprove_no_such_tool","arguments":{}"#);
            frame.request(r#""tools/call""#, &params)
        }
    ),
    payload!(
        "missing_tool_name",
        "tools/call without a name",
        Due::Yes,
        "",
        |frame| frame.request(r#""tools/call""#, &frame.params(r#""arguments":{}"#))
    ),
    payload!(
        "string_arguments",
        "tools/call whose arguments are a text",
        Due::Yes,
        "tools/call",
        |frame| {
            let tool = serde_json::Value::from(frame.tool);
            let params = frame.params(&format!(r#""name":{tool},"arguments":"mcprove""#));
            frame.request(r#""tools/call""#, &params)
        }
    ),
    payload!(
        "wrong_argument_type",
        "tools/call with an object where its first text belongs",
        Due::Yes,
        "tools/call",
        |frame| frame.call_with(r#"{"mcprove":[null]}"#)
    ),
    payload!(
        "huge_number",
        "tools/call with a number that no floating point can hold",
        Due::Yes,
        "tools/call",
        |frame| frame.call_with("1e999")
    ),
    payload!(
        "control_characters",
        "escaped control characters in the name of a tool",
        Due::Yes,
        "",
        |frame| {
            let name = r#""name":"\u0000\u0007\u001b[2J\u007f\r\n""#;
            let params = frame.params(&format!(r#"{name},"arguments":{{}}"#));
            frame.request(r#""tools/call""#, &params)
        }
    ),
    payload!(
        "lone_surrogate",
        "half of a surrogate pair in an argument",
        Due::Yes,
        "tools/call",
        |frame| frame.call_with(r#""\ud800""#)
    ),
    payload!(
        "giant_payload",
        "a text of 1 MiB in an argument",
        Due::Yes,
        "tools/call",
        |frame| frame.call_with(&format!("\"{}\"", "x".repeat(GIANT_BYTES)))
    ),
    payload!(
        "deep_nesting",
        "lists in lists, 20,000 levels deep",
        Due::Yes,
        "tools/call",
        |frame| frame.call_with(&format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH)))
    ),
];
