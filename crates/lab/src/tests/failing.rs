//! The tools that fail: `error`, `slow`, `flaky`, `fail_then_succeed`.

use std::time::Duration;

use futures_util::future::join_all;
use mcprove_servers::hosting::listener::ListenerKind;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::support::{
    Pipe, audited, call, http, listen, modern, modern_headers, open, open_session, request, rows,
    structured, within,
};
use crate::LabOptions;

#[tokio::test]
async fn every_category_of_error_has_its_code() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    let reply = pipe.call("error", &json!({})).await;
    assert_eq!(reply["error"]["message"], "synthetic error");
    assert_eq!(reply["error"]["code"], -32_000);
    let codes = [
        ("protocol", -32_600),
        ("tool", -32_000),
        ("timeout", -32_001),
        ("auth", -32_003),
        ("weather", -32_602),
    ];
    for (category, code) in codes {
        let arguments = json!({ "message": "boom", "category": category });
        let reply = pipe.call("error", &arguments).await;
        assert_eq!(reply["error"]["code"], code, "{category}");
        assert_eq!(reply["error"]["message"] == "boom", code != -32_602);
        assert!(reply.get("result").is_none());
    }
    let reply = pipe.call("error", &json!({ "category": 7 })).await;
    assert_eq!(reply["error"]["code"], -32_602);
}

#[tokio::test]
async fn an_error_of_the_tool_is_a_result() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    let arguments = json!({ "message": "boom", "category": "auth", "as_tool": true });
    let reply = pipe.call("error", &arguments).await;
    assert_eq!(reply["result"]["isError"], true);
    assert_eq!(structured(&reply), json!({ "triggered": true }));
    assert_eq!(reply["result"]["content"][1]["text"], "boom");
}

#[tokio::test]
async fn arguments_are_held_to_their_schema() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    let wrong = [
        ("slow", json!({})),
        ("slow", json!({ "milliseconds": "1" })),
        ("slow", json!({ "milliseconds": -1 })),
        ("flaky", json!({ "seed": "a" })),
        ("flaky", json!({ "fail_rate": 0.5, "seed": 5 })),
        ("echo", json!({ "message": "a", "mesage": "b" })),
        ("error", json!({ "as_tool": "yes" })),
        ("write", json!({ "key": "k".repeat(257) })),
    ];
    for (tool, arguments) in wrong {
        let reply = pipe.call(tool, &arguments).await;
        assert_eq!(reply["result"]["isError"], true, "{tool} {arguments}");
        let body = structured(&reply);
        let problem = body["problem"].as_str().unwrap();
        assert_eq!(reply["result"]["content"][1]["text"], problem, "{reply}");
    }
    let reply = pipe.call("echo", &json!([])).await;
    assert_eq!(reply["error"]["code"], -32_602);
    let nameless = request(1, "tools/call", &json!({ "arguments": {} }));
    let reply = pipe.ask(&nameless).await;
    assert!(
        reply.to_string().contains("name must be a string"),
        "{reply}"
    );
    let reply = pipe.call("no_such_tool", &json!({})).await;
    assert_eq!(reply["error"]["code"], -32_602);
}

#[tokio::test]
async fn five_slow_calls_overlap_and_others_are_not_held_up() {
    let server = listen(&LabOptions::default(), ListenerKind::Http).await;
    let session = open_session(&server, &[]).await;
    let named = [("Mcp-Session-Id", session.as_str())];
    let start = Instant::now();
    let slow = |id| {
        let message = call(id, "slow", &json!({ "milliseconds": 1_000 })).to_string();
        let (server, named) = (&server, &named);
        async move { http(server, "POST", named, &message).await }
    };
    let quick = async {
        let message = call(9, "echo", &json!({ "message": "hi" })).to_string();
        http(&server, "POST", &named, &message).await;
        start.elapsed()
    };
    let (replies, quick) = tokio::join!(join_all((1..=5).map(slow)), quick);
    for reply in replies {
        assert!(structured(&reply.json())["slept_ms"].as_u64().unwrap() >= 1_000);
    }
    // One after the other they would take five seconds.
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(quick < Duration::from_millis(900), "{quick:?}");

    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    let start = Instant::now();
    for id in 1..=5 {
        pipe.send(&call(id, "slow", &json!({ "milliseconds": 1_000 })))
            .await;
    }
    for _ in 0..5 {
        structured(&pipe.next().await);
    }
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn a_cancelled_call_gets_no_answer_but_a_row() {
    let (options, store) = audited();
    let mut pipe = Pipe::ready(&options).await;
    pipe.send(&call(7, "slow", &json!({ "milliseconds": 60_000 })))
        .await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    pipe.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 },
    }))
    .await;
    assert!(pipe.is_quiet().await);
    let row = rows(&store, 2).await.pop().unwrap();
    assert_cancelled(&row, "cancelled");
}

fn assert_cancelled(row: &crate::audit::AuditRow, reason: &str) {
    assert_eq!(row.tool_name.as_deref(), Some("slow"));
    assert!(row.cancelled && !row.success, "{row:?}");
    assert!(
        (50.0..50_000.0).contains(&row.duration_ms),
        "{}",
        row.duration_ms
    );
    assert!(
        row.error_message.as_deref().unwrap().contains(reason),
        "{row:?}"
    );
    assert_eq!((row.response_chars, row.response.as_deref()), (0, None));
}

#[tokio::test]
async fn the_end_of_stdin_cancels() {
    let (options, store) = audited();
    let mut pipe = Pipe::ready(&options).await;
    pipe.send(&call(7, "slow", &json!({ "milliseconds": 60_000 })))
        .await;
    assert_eq!(pipe.close().await, "");
    assert_cancelled(&rows(&store, 2).await.pop().unwrap(), "left");
}

#[tokio::test]
async fn leaving_cancels_over_http_in_both_eras() {
    let (options, store) = audited();
    let server = listen(&options, ListenerKind::Http).await;
    let session = open_session(&server, &[]).await;
    let arguments = json!({ "milliseconds": 60_000 });
    let named = [("Mcp-Session-Id", session.as_str())];
    let handshake = call(7, "slow", &arguments).to_string();
    let params = json!({ "name": "slow", "arguments": arguments });
    let stateless = modern(7, "tools/call", &params).to_string();
    let first = open(&server, "POST", &named, &handshake).await;
    let second = open(&server, "POST", &modern_headers("slow"), &stateless).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    drop((first, second));
    let rows = rows(&store, 3).await;
    for row in rows.iter().skip(1) {
        assert_cancelled(row, "left");
    }
    let mut sessions: Vec<_> = rows
        .iter()
        .skip(1)
        .map(|row| row.session_id.clone())
        .collect();
    sessions.sort();
    assert_eq!(sessions, [None, Some(session)]);
}

#[tokio::test]
async fn the_end_of_the_server_leaves_a_row_too() {
    let (options, store) = audited();
    let server = listen(&options, ListenerKind::Http).await;
    let params = json!({ "name": "slow", "arguments": { "milliseconds": 60_000 } });
    let message = modern(7, "tools/call", &params).to_string();
    let _waiting = open(&server, "POST", &modern_headers("slow"), &message).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    within(server.shutdown()).await;
    // The client did nothing wrong.
    assert_cancelled(&rows(&store, 1).await.pop().unwrap(), "the lab was stopped");
}

#[tokio::test]
async fn without_a_seed_one_is_drawn_and_told() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    let mut seeds = std::collections::HashSet::new();
    for _ in 0..10 {
        let body = structured(&pipe.call("flaky", &json!({ "fail_rate": 0 })).await);
        let seed = body["seed"].as_str().unwrap().to_owned();
        // The told seed rolls the same.
        let again = json!({ "fail_rate": 0, "seed": seed, "call_id": 0 });
        assert_eq!(
            structured(&pipe.call("flaky", &again).await)["roll"],
            body["roll"]
        );
        seeds.insert(seed);
    }
    assert_eq!(seeds.len(), 10);
    let reply = pipe.call("flaky", &json!({ "fail_rate": 1 })).await;
    assert!(reply["error"]["data"]["seed"].is_string(), "{reply}");
}

#[tokio::test]
async fn it_fails_as_often_as_told_and_then_succeeds() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    let arguments = json!({ "key": "a", "failures": 2 });
    for attempt in 1..=2 {
        let reply = pipe.call("fail_then_succeed", &arguments).await;
        let message = format!("failure {attempt} of 2, as requested");
        assert_eq!(reply["error"]["message"], message);
    }
    let body = structured(&pipe.call("fail_then_succeed", &arguments).await);
    assert_eq!(body["attempt"], 3);
    let other = json!({ "key": "b", "as_tool": true });
    let reply = pipe.call("fail_then_succeed", &other).await;
    assert_eq!(reply["result"]["isError"], true);
    let again = json!({ "key": "a", "failures": 1, "reset": true });
    assert!(pipe.call("fail_then_succeed", &again).await["error"].is_object());
}

#[tokio::test]
async fn a_write_is_counted_also_when_its_answer_is_an_error() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    let once = json!({ "key": "order", "idempotency_key": "one", "then_fail": true });
    assert!(pipe.call("write", &once).await["error"].is_object());
    let retried = json!({ "key": "order", "idempotency_key": "one" });
    let body = structured(&pipe.call("write", &retried).await);
    assert_eq!(
        body,
        json!({ "key": "order", "applied": false, "count": 1 })
    );
    pipe.call("write", &json!({ "key": "order" })).await;
    pipe.call("write", &json!({ "key": "other" })).await;
    let body = structured(&pipe.call("count", &json!({ "key": "order" })).await);
    assert_eq!(body, json!({ "key": "order", "count": 2, "repeated": 1 }));
    let body = structured(&pipe.call("count", &json!({ "reset": true })).await);
    assert_eq!(
        body,
        json!({ "count": 3, "counts": { "order": 2, "other": 1 } })
    );
    let body: Value = structured(&pipe.call("count", &json!({})).await);
    assert_eq!(body["count"], 0);
}
