//! What only HTTP has: streams that are taken up again, arguments in headers, sessions that end.

use std::time::Duration;

use mcprove_servers::hosting::listener::ListenerKind;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::support::{
    audited, call, http, initialize, listen, modern, modern_headers, open, open_session, rows,
    wait_for, within,
};
use crate::LabOptions;

/// What comes until the server ends the response.
async fn rest_of(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    within(stream.read_to_string(&mut text)).await.unwrap();
    text
}

fn with_fixtures() -> LabOptions {
    LabOptions {
        conformance_fixtures: true,
        ..LabOptions::default()
    }
}

#[tokio::test]
async fn the_rest_of_a_closed_stream_is_fetched() {
    let server = listen(&with_fixtures(), ListenerKind::Http).await;
    let session = open_session(&server, &[]).await;
    let named = [("Mcp-Session-Id", session.as_str())];
    let message = call(7, "test_reconnection", &json!({})).to_string();
    let closed = http(&server, "POST", &named, &message).await;
    assert!(!closed.body.contains("You came back"), "{closed:?}");
    assert!(closed.body.contains("retry: 100\n"), "{closed:?}");
    let event = closed.body.split("id: ").nth(1).unwrap();
    let event = event.lines().next().unwrap();
    let back = [named[0], ("Last-Event-ID", event)];
    let rest = http(&server, "GET", &back, "").await;
    assert!(rest.body.contains("You came back"), "{rest:?}");
    assert!(rest.body.contains("\"id\":7"), "{rest:?}");
    // It is told once: who comes again gets a stream of changes.
    let mut again = open(&server, "GET", &back, "").await;
    wait_for(&mut again, ": open").await;
}

#[tokio::test]
async fn an_argument_in_a_header_must_be_that_of_the_body() {
    let server = listen(&with_fixtures(), ListenerKind::Http).await;
    let [version, method, name] = modern_headers("test_header_parameter");
    let params = json!({ "name": "test_header_parameter", "arguments": { "region": "Zürich" } });
    let message = modern(1, "tools/call", &params).to_string();
    let cases = [
        (Some("=?base64?WsO8cmljaA==?="), 200),
        (Some("=?base64?WsO8cmljaA?="), 400),
        (Some("Zurich"), 400),
        (None, 400),
    ];
    for (value, status) in cases {
        let mut headers = vec![version, method, name];
        headers.extend(value.map(|value| ("Mcp-Param-Region", value)));
        let reply = http(&server, "POST", &headers, &message).await;
        assert_eq!(reply.status, status, "{value:?}: {reply:?}");
        let is_mismatch = reply.json()["error"]["code"] == -32_020;
        assert_eq!(is_mismatch, status == 400);
    }
}

#[tokio::test]
async fn the_end_of_a_session_cancels_what_it_asked_for() {
    let (options, store) = audited();
    let server = listen(&options, ListenerKind::Http).await;
    let session = open_session(&server, &[]).await;
    let named = [("Mcp-Session-Id", session.as_str())];
    let message = call(7, "slow", &json!({ "milliseconds": 60_000 })).to_string();
    let mut waiting = open(&server, "POST", &named, &message).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(http(&server, "DELETE", &named, "").await.status, 200);
    assert!(!rest_of(&mut waiting).await.contains("data:"));
    let row = rows(&store, 2).await.pop().unwrap();
    assert!(row.cancelled, "{row:?}");
    assert_eq!(http(&server, "POST", &named, &message).await.status, 404);
}

#[tokio::test]
async fn a_cancelled_call_ends_its_response_without_an_answer() {
    let (options, store) = audited();
    let server = listen(&options, ListenerKind::Http).await;
    let session = open_session(&server, &[]).await;
    let named = [("Mcp-Session-Id", session.as_str())];
    let message = call(7, "slow", &json!({ "milliseconds": 60_000 })).to_string();
    let mut waiting = open(&server, "POST", &named, &message).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let params = json!({ "requestId": 7 });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    let reply = http(&server, "POST", &named, &cancel.to_string()).await;
    assert_eq!(reply.status, 202);
    let ended = rest_of(&mut waiting).await;
    assert!(ended.starts_with("HTTP/1.1 200"), "{ended}");
    assert!(ended.contains("text/event-stream"), "{ended}");
    assert!(!ended.contains("data:"), "{ended}");
    let rows = rows(&store, 2).await;
    let row = rows.iter().find(|row| row.tool_name.is_some()).unwrap();
    assert_eq!(row.error_category.as_deref(), Some("cancelled"), "{row:?}");
}

#[tokio::test]
async fn a_batch_whose_calls_are_all_cancelled_ends_its_response() {
    let (options, store) = audited();
    let server = listen(&options, ListenerKind::Http).await;
    let message = initialize(0, "2025-03-26").to_string();
    let reply = http(&server, "POST", &[], &message).await;
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    let named = [("Mcp-Session-Id", session.as_str())];
    let slow = |id: u64| call(id, "slow", &json!({ "milliseconds": 60_000 }));
    let cancel = |id: u64| {
        let params = json!({ "requestId": id });
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
    };
    // What is left of a batch is answered.
    let echo = call(9, "echo", &json!({ "message": "hi" }));
    let batch = json!([slow(7), slow(8), echo, { "jsonrpc": "2.0", "method": "notifications/x" }]);
    let mut waiting = open(&server, "POST", &named, &batch.to_string()).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    for id in [7, 8] {
        http(&server, "POST", &named, &cancel(id).to_string()).await;
    }
    let ended = rest_of(&mut waiting).await;
    let body = ended.split("\r\n\r\n").nth(1).unwrap();
    let answers: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{ended}"));
    assert_eq!(answers.as_array().unwrap().len(), 1, "{answers}");
    assert_eq!(answers[0]["id"], 9);
    // Of one of which nothing is left there is no answer, and an end.
    let batch = json!([slow(17), slow(18)]).to_string();
    let mut waiting = open(&server, "POST", &named, &batch).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let cancel = json!([cancel(17), cancel(18)]).to_string();
    let reply = http(&server, "POST", &named, &cancel).await;
    assert_eq!(reply.status, 202);
    let ended = rest_of(&mut waiting).await;
    assert!(ended.starts_with("HTTP/1.1 200"), "{ended}");
    assert!(ended.contains("text/event-stream"), "{ended}");
    assert!(!ended.contains("data:"), "{ended}");
    let rows = rows(&store, 6).await;
    let cancelled = rows.iter().filter(|row| row.cancelled).count();
    assert_eq!(cancelled, 4, "{rows:#?}");
}
