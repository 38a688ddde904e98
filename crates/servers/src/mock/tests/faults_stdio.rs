//! Every kind of fault over stdio, as raw bytes show it.

use serde_json::{Value, json};

use super::{call, found, mock, ready, search};
use crate::fixture::tests::{Pipe, ping, request, text};

/// The first line after a call that met this fault.
async fn struck(fault: &str) -> (Pipe, Vec<u8>) {
    let mut pipe = ready(&mock(&[fault])).await;
    pipe.send(&search(1, "x")).await;
    let line = pipe.line().await.unwrap_or_default();
    (pipe, line)
}

fn json_of(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap()
}

#[tokio::test]
async fn faults_that_say_something_else() {
    for (fault, pointer, expected) in [
        ("none", "/result/content/0/text", json!("found x")),
        ("error:-5", "/error/code", json!(-5)),
        ("flaky:1", "/error/code", json!(-32000)),
        ("tool-error", "/result/isError", json!(true)),
        ("corrupt", "/result/content/0/text", json!("x dnuof")),
        ("empty", "/result/content", json!([])),
        ("vanish", "/error/message", json!("Unknown tool: search")),
        ("wrong-id", "/id", json!(1_000_000_001)),
        ("slow:1", "/result/content/0/text", json!("found x")),
        ("jitter:0-2", "/result/content/0/text", json!("found x")),
        ("reorder:1", "/result/content/0/text", json!("found x")),
        (
            "reply-after-cancel:1",
            "/result/content/0/text",
            json!("found x"),
        ),
        ("http-status:429", "/error/data/status", json!(429)),
        ("http-status:429", "/error/data/retry_after_s", json!(1)),
    ] {
        let (mut pipe, line) = struck(fault).await;
        assert_eq!(json_of(&line).pointer(pointer), Some(&expected), "{fault}");
        // And the connection lives.
        assert_eq!(pipe.ask(&ping(2)).await["id"], 2, "{fault}");
    }
    let (_, line) = struck("oversized:100000").await;
    assert_eq!(text(&json_of(&line)).len(), 100_000);
}

#[tokio::test]
async fn broken_frames_leave_the_connection_alive() {
    let whole = found(1, "x").to_string();
    for (fault, expected) in [
        ("malformed", format!("}}{{{whole}")),
        ("truncated", whole[..whole.len() / 2].to_owned()),
    ] {
        let (mut pipe, line) = struck(fault).await;
        assert_eq!(String::from_utf8(line).unwrap(), expected, "{fault}");
        assert_eq!(pipe.ask(&ping(2)).await["id"], 2, "{fault}");
    }
}

#[tokio::test]
async fn more_than_the_reply() {
    let (mut pipe, line) = struck("duplicate").await;
    assert_eq!(json_of(&line), found(1, "x"));
    assert_eq!(pipe.next().await, found(1, "x"));
    let (mut pipe, line) = struck("noise").await;
    assert!(line.starts_with(b"DEBUG"));
    pipe.line().await;
    assert_eq!(pipe.next().await, found(1, "x"));
    let mut pipe = ready(&mock(&["progress-forever:1"])).await;
    let mut message = search(1, "x");
    message["params"]["_meta"] = json!({ "progressToken": "t" });
    pipe.send(&message).await;
    for step in 1..4 {
        let note = pipe.next().await;
        assert_eq!(
            note["params"],
            json!({ "progressToken": "t", "progress": step })
        );
    }
}

#[tokio::test]
async fn replies_are_swapped() {
    let mut pipe = ready(&mock(&["reorder:20000"])).await;
    pipe.send(&search(1, "a")).await;
    pipe.send(&search(2, "b")).await;
    assert_eq!(pipe.next().await["id"], 2);
    assert_eq!(pipe.next().await["id"], 1);
}

#[tokio::test]
async fn silence() {
    for fault in [
        "hang",
        "wedged",
        "recover-after:1",
        "lose-request",
        "lose-reply",
        "progress-forever",
    ] {
        let mut pipe = ready(&mock(&[fault])).await;
        pipe.send(&search(1, "x")).await;
        // Without a token there is no progress either.
        assert!(pipe.is_quiet().await, "{fault}");
        assert_eq!(pipe.ask(&ping(2)).await["id"], 2, "{fault}");
    }
}

#[tokio::test]
async fn the_server_recovers() {
    let mut pipe = ready(&mock(&["recover-after:2"])).await;
    pipe.send(&search(1, "x")).await;
    pipe.send(&search(2, "x")).await;
    assert_eq!(pipe.ask(&search(3, "x")).await, found(3, "x"));
}

#[tokio::test]
async fn a_lost_request_is_not_executed_and_a_lost_reply_is() {
    for (fault, next) in [
        ("lose-request,calls=1", "first"),
        ("lose-reply,calls=1", "second"),
    ] {
        let tools = "tools: [{ name: a, responses: [{ sequence: [first, second] }] }]";
        let mut pipe = ready(&super::mock_with(tools, &[fault], None)).await;
        pipe.send(&call(1, "a", json!({}))).await;
        assert!(pipe.is_quiet().await);
        assert_eq!(text(&pipe.ask(&call(2, "a", json!({}))).await), next);
    }
}

#[tokio::test]
async fn the_end_of_the_connection() {
    for fault in ["disconnect", "crash"] {
        let mut pipe = ready(&mock(&[fault])).await;
        pipe.send(&search(1, "x")).await;
        assert_eq!(pipe.rest().await, b"", "{fault}");
    }
}

#[tokio::test]
async fn a_vanished_tool_is_not_listed_and_others_are() {
    let mut pipe = ready(&mock(&["vanish,tool=search"])).await;
    let list = pipe.ask(&request(1, "tools/list", json!({}))).await;
    assert_eq!(list["result"]["tools"][0]["name"], "deep");
    // By ordinal it is there until the first call.
    let mut pipe = ready(&mock(&["vanish,tool=search,calls=2-"])).await;
    let first = |list: &Value| list["result"]["tools"][0]["name"].clone();
    assert_eq!(pipe.ask(&search(1, "x")).await, found(1, "x"));
    assert_eq!(
        first(&pipe.ask(&request(2, "tools/list", json!({}))).await),
        "search"
    );
    assert_eq!(pipe.ask(&search(3, "x")).await["error"]["code"], -32602);
    assert_eq!(
        first(&pipe.ask(&request(4, "tools/list", json!({}))).await),
        "deep"
    );
}

#[tokio::test]
async fn faults_are_aimed() {
    let faults = [
        "error:1,tool=search,calls=2",
        "error:2,server=demo,tool=echo",
        "error:3,server=other",
    ];
    let mock = mock(&faults);
    let mut pipe = ready(&mock).await;
    assert_eq!(pipe.ask(&search(1, "x")).await, found(1, "x"));
    assert_eq!(
        pipe.ask(&call(2, "echo", json!({}))).await["error"]["code"],
        2
    );
    assert_eq!(pipe.ask(&search(3, "x")).await["error"]["code"], 1);
    // A call that is wrong counts, and is struck first.
    assert_eq!(
        pipe.ask(&call(4, "echo", json!(5))).await["error"]["code"],
        2
    );
    let summary = mock.summary();
    assert_eq!(summary.calls, 4);
    let struck: Vec<(&str, u64, u64)> = summary
        .faults
        .iter()
        .map(|count| (count.fault.as_str(), count.struck, count.aimed))
        .collect();
    assert_eq!(
        struck,
        [("error", 1, 2), ("error-2", 2, 2), ("error-3", 0, 0)]
    );
}
