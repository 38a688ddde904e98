//! JSON that is no proper JSON-RPC message, or one that asks for nothing that exists.

use super::{Due, Payload, payload};
use crate::drive::scenario::fuzzer::frame::{Frame, request_as};

/// How long the long method is.
const METHOD_BYTES: usize = 100_000;

/// The payloads.
pub(super) const PAYLOADS: &[Payload] = &[
    payload!(
        "unknown_method",
        "a method that does not exist",
        Due::Yes,
        "mcprove/no_such_method",
        |frame| frame.request(r#""mcprove/no_such_method""#, &frame.params(""))
    ),
    payload!(
        "long_method",
        "a method of 100,000 letters",
        Due::Yes,
        "",
        |frame| {
            let method = format!("\"{}\"", "m".repeat(METHOD_BYTES));
            frame.request(&method, &frame.params(""))
        }
    ),
    payload!(
        "numeric_method",
        "a method that is a number",
        Due::Yes,
        "",
        |frame| frame.request("42", &frame.params(""))
    ),
    payload!(
        "missing_method",
        "an id and nothing else",
        Due::Yes,
        "",
        |frame| format!(r#"{{"jsonrpc":"2.0","id":{}}}"#, frame.id)
    ),
    payload!(
        "null_params",
        "params that are null",
        Due::Yes,
        "tools/list",
        |frame| frame.request(r#""tools/list""#, r#""params":null"#)
    ),
    payload!(
        "string_params",
        "params that are a text",
        Due::Yes,
        "tools/list",
        |frame| frame.request(r#""tools/list""#, r#""params":"mcprove""#)
    ),
    payload!(
        "array_params",
        "params that are a list",
        Due::Yes,
        "tools/list",
        |frame| frame.request(r#""tools/list""#, r#""params":[1,2,3]"#)
    ),
    payload!(
        "missing_jsonrpc",
        "a request without `jsonrpc`",
        Due::Yes,
        "tools/list",
        |frame| {
            let params = frame.params("");
            format!(r#"{{"id":{},"method":"tools/list",{params}}}"#, frame.id)
        }
    ),
    payload!(
        "wrong_jsonrpc_version",
        "a request of JSON-RPC 1.0",
        Due::Yes,
        "tools/list",
        |frame| {
            let params = frame.params("");
            format!(
                r#"{{"jsonrpc":"1.0","id":{},"method":"tools/list",{params}}}"#,
                frame.id
            )
        }
    ),
    payload!(
        "huge_id",
        "an id of 2^63, one more than a signed number of 64 bits holds",
        Due::Yes,
        "tools/list",
        |frame| { request_as("9223372036854775808", r#""tools/list""#, &frame.params(""),) },
        &["9223372036854775808"]
    ),
    payload!(
        "null_id",
        "an id that is null",
        Due::No,
        "tools/list",
        |frame| request_as("null", r#""tools/list""#, &frame.params(""))
    ),
    payload!(
        "object_id",
        "an id that is an object",
        Due::No,
        "tools/list",
        |frame| request_as(r#"{"mcprove":1}"#, r#""tools/list""#, &frame.params("")),
        &[r#"{"mcprove":1}"#]
    ),
    Payload {
        name: "duplicate_id",
        explanation: "two requests in flight with the same id",
        due: Due::Yes,
        build: |frame| {
            let request = frame.request(r#""tools/list""#, &frame.params(""));
            vec![
                frame.message(request.clone(), "tools/list"),
                frame.message(request, "tools/list"),
            ]
        },
        ids: &[],
    },
    payload!(
        "unknown_notification",
        "a notification that does not exist",
        Due::No,
        "notifications/mcprove",
        |_| r#"{"jsonrpc":"2.0","method":"notifications/mcprove"}"#
    ),
    payload!(
        "unknown_response",
        "an answer to a question that was never asked",
        Due::No,
        "",
        |frame| format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, frame.id)
    ),
    payload!(
        "empty_object",
        "an object without anything in it",
        Due::No,
        "",
        |_| "{}"
    ),
    payload!(
        "bare_number",
        "a number instead of a message",
        Due::No,
        "",
        |_| "42"
    ),
    payload!(
        "empty_batch",
        "a batch without messages",
        Due::No,
        "",
        |_| "[]"
    ),
    payload!(
        "batch",
        "a batch, which only revision 2025-03-26 has",
        Due::WithBatches,
        "",
        |frame| {
            let request = frame.request(r#""tools/list""#, &frame.params(""));
            format!(r#"[{request},{{"jsonrpc":"2.0","method":"notifications/mcprove"}}]"#)
        }
    ),
];
