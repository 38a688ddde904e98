//! Calls that the client no longer wants.

use serde_json::json;

use super::{call, found, listening, mock, ready, search};
use crate::fixture::tests::{Pipe, http, initialize, open, ping, read_until};
use crate::mock::ListenerKind;

async fn cancel(pipe: &mut Pipe, id: u64) {
    let params = json!({ "requestId": id });
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    pipe.send(&note).await;
}

#[tokio::test]
async fn a_cancelled_call_is_given_up_and_only_one_fault_does_not_heed_it() {
    let faults = ["slow:300,tool=search", "reply-after-cancel:200,tool=echo"];
    let mut pipe = ready(&mock(&faults)).await;
    pipe.send(&search(1, "x")).await;
    pipe.send(&call(2, "echo", json!({}))).await;
    cancel(&mut pipe, 1).await;
    cancel(&mut pipe, 2).await;
    cancel(&mut pipe, 2).await;
    let late = pipe.next().await;
    assert_eq!((&late["id"], late["result"].is_object()), (&json!(2), true));
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(pipe.is_quiet().await);
    assert_eq!(pipe.ask(&ping(3)).await["id"], 3);
}

#[tokio::test]
async fn a_cancelled_slow_call_is_not_executed() {
    let tools = "tools: [{ name: a, responses: [{ sequence: [first, second] }] }]";
    let mock = super::mock_with(tools, &["slow:200,calls=1"], None);
    let mut pipe = ready(&mock).await;
    pipe.send(&call(1, "a", json!({}))).await;
    cancel(&mut pipe, 1).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let next = pipe.ask(&call(2, "a", json!({}))).await;
    assert_eq!(crate::fixture::tests::text(&next), "first");
}

#[tokio::test]
async fn over_http_the_late_reply_comes_on_the_open_request() {
    let server = listening(&mock(&["reply-after-cancel:200"]), ListenerKind::Http).await;
    let body = initialize(0, "2025-11-25").to_string();
    let greeting = http(&server, "POST", "/mcp", &[], &body).await;
    let session = greeting.header("mcp-session-id").unwrap();
    let headers = [("Mcp-Session-Id", session)];
    let body = search(1, "x").to_string();
    let mut stream = open(&server, "POST", "/mcp", &headers, &body).await;
    let params = json!({ "requestId": 1 });
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    let accepted = http(&server, "POST", "/mcp", &headers, &note.to_string()).await;
    assert_eq!(accepted.status, 202);
    let text = read_until(&mut stream, "found x").await;
    assert!(text.contains(&found(1, "x").to_string()), "{text}");
}
