//! Bytes that are no JSON, or no text at all.

use super::{Due, Payload, payload};
use crate::drive::scenario::fuzzer::frame::Frame;

/// The payloads.
pub(super) const PAYLOADS: &[Payload] = &[
    payload!("empty_line", "nothing at all", Due::No, "", |_| ""),
    payload!(
        "invalid_json",
        "text that is no JSON",
        Due::No,
        "",
        |_| "{this is not JSON"
    ),
    payload!(
        "joined_frames",
        "half a message, and another one right behind it",
        Due::No,
        "",
        |frame| {
            let request = frame.request(r#""tools/list""#, &frame.params(""));
            format!(r#"{{"jsonrpc":"2.0","id":{},"meth{request}"#, frame.id)
        }
    ),
    payload!(
        "nul_byte",
        "a NUL byte in a text",
        Due::No,
        "tools/call",
        |frame| frame.call_with("\"a\0b\"")
    ),
    payload!(
        "byte_order_mark",
        "a byte order mark before the message",
        Due::No,
        "tools/list",
        |frame| {
            let request = frame.request(r#""tools/list""#, &frame.params(""));
            format!("\u{feff}{request}")
        }
    ),
    payload!(
        "invalid_utf8",
        "bytes that are no UTF-8, in a text",
        Due::No,
        "tools/call",
        |frame| {
            let call = frame.call_with("\"@\"");
            let (before, after) = call.split_once('@').unwrap_or((&call, ""));
            [before.as_bytes(), b"\xff\xfe\xc3\x28", after.as_bytes()].concat()
        }
    ),
];
