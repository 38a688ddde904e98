//! What is written down of a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcprove_servers::hosting::listener::ListenerKind;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::support::{
    Pipe, audited, call, http, listen, modern, modern_headers, open_session, request, rows, within,
};
use crate as lab;
use crate::LabOptions;
use crate::audit::AuditStore;

#[tokio::test]
async fn every_request_has_one_row() {
    let (options, store) = audited();
    let mut pipe = Pipe::ready(&options).await;
    pipe.ask(&request(1, "tools/list", &json!({}))).await;
    pipe.ask(&request(2, "no/such", &json!({}))).await;
    pipe.call("echo", &json!({ "message": "hi" })).await;
    pipe.call("nothing", &json!({})).await;
    pipe.call("slow", &json!({ "milliseconds": "x" })).await;
    pipe.ask(&request(3, "ping", &json!({}))).await;
    let rows = rows(&store, 7).await;
    let methods: Vec<_> = rows.iter().map(|row| row.method.as_str()).collect();
    assert_eq!(
        methods,
        [
            "initialize",
            "tools/list",
            "no/such",
            "tools/call",
            "tools/call",
            "tools/call",
            "ping"
        ]
    );
    for row in &rows {
        assert_eq!(row.source.as_deref(), Some("tester/7"), "{row:?}");
    }
    assert_eq!(rows[2].error_code, Some(-32_601));
    assert_eq!(rows[2].error_category.as_deref(), Some("protocol"));
    let echo = &rows[3];
    assert!(echo.success && !echo.cancelled);
    assert_eq!(echo.tool_group.as_deref(), Some("identity"));
    assert_eq!(echo.parameters.as_deref(), Some(r#"{"message":"hi"}"#));
    assert_eq!(
        (echo.request_id.as_deref(), echo.content_blocks),
        (Some("1"), 1)
    );
    assert!(echo.response_chars > 50 && echo.request_chars > 20);
    assert!(
        echo.response
            .as_deref()
            .unwrap()
            .contains("structuredContent")
    );
    assert_eq!(
        (echo.transport.as_str(), echo.auth_type.as_deref()),
        ("stdio", Some("none"))
    );
    assert!(echo.session_id.is_some() && echo.session_id == rows[0].session_id);
    assert_eq!(
        rows[4].error_message.as_deref(),
        Some("Unknown tool: nothing")
    );
    assert_eq!(rows[5].error_category.as_deref(), Some("tool"));
}

#[tokio::test]
async fn the_category_that_was_asked_for_is_written_down() {
    let (options, store) = audited();
    let mut pipe = Pipe::ready(&options).await;
    for as_tool in [false, true] {
        for category in ["protocol", "tool", "timeout", "auth", "weather"] {
            let arguments = json!({ "category": category, "as_tool": as_tool, "message": "m" });
            pipe.call("error", &arguments).await;
        }
    }
    pipe.call("error", &json!({})).await;
    pipe.call("flaky", &json!({ "fail_rate": 1 })).await;
    let rows = rows(&store, 13).await;
    let categories: Vec<_> = rows
        .iter()
        .skip(1)
        .map(|row| row.error_category.as_deref().unwrap())
        .collect();
    // What is no category is a mistake of the caller.
    let five = ["protocol", "tool", "timeout", "auth", "protocol"];
    assert_eq!(
        categories,
        [&five[..], &five[..], &["tool", "tool"]].concat()
    );
    assert!(rows.iter().skip(1).all(|row| !row.success));
    assert_eq!(rows[6].error_message.as_deref(), Some("m"));
    assert_eq!(rows[4].error_code, Some(-32_003));
}

#[tokio::test]
async fn notifications_are_counted() {
    let (options, store) = audited();
    let mut pipe = Pipe::ready(&options).await;
    pipe.send(&call(1, "chatty", &json!({ "messages": 4 })))
        .await;
    pipe.until_answer(1).await;
    assert_eq!(rows(&store, 2).await[1].notifications_sent, 4);
}

#[tokio::test]
async fn what_http_refuses_has_a_row_too() {
    let (options, store) = audited();
    let server = listen(&options, ListenerKind::Http).await;
    let message = call(5, "echo", &json!({ "message": "hi" })).to_string();
    assert_eq!(http(&server, "POST", &[], &message).await.status, 400);
    let unknown = [("Mcp-Session-Id", "nobody")];
    assert_eq!(http(&server, "POST", &unknown, &message).await.status, 404);
    let params = json!({ "name": "echo", "arguments": { "message": "hi" } });
    let stateless = modern(6, "tools/call", &params).to_string();
    assert_eq!(
        http(&server, "POST", &modern_headers("other"), &stateless)
            .await
            .status,
        400
    );
    let session = open_session(&server, &[]).await;
    assert_eq!(http(&server, "POST", &[], "{").await.status, 400);
    assert_eq!(http(&server, "PUT", &[], "").await.status, 405);
    let rows = rows(&store, 6).await;
    assert_eq!(rows[0].error_code, Some(-32_600));
    let answered = rows[0].response.as_deref().unwrap();
    assert!(answered.contains("Mcp-Session-Id"), "{answered}");
    assert_eq!(rows[4].error_code, Some(-32_700));
    assert!(!rows[4].success && rows[4].method.is_empty());
    let said = rows[5].error_message.as_deref().unwrap();
    assert!(said.starts_with("HTTP 405"), "{said}");
    assert!(
        rows.iter()
            .take(3)
            .all(|row| !row.success && row.tool_name.as_deref() == Some("echo"))
    );
    assert!(
        rows[2]
            .error_message
            .as_deref()
            .unwrap()
            .contains("Mcp-Name")
    );
    assert_eq!(rows[1].session_id.as_deref(), Some("nobody"));
    assert_eq!(rows[3].session_id.as_deref(), Some(session.as_str()));
    assert_eq!(rows[3].transport, "http");
    assert!(
        rows[3]
            .remote_addr
            .as_deref()
            .unwrap()
            .starts_with("127.0.0.1:")
    );
    assert!(
        rows[3]
            .headers
            .as_deref()
            .unwrap()
            .contains("\"host\":\"localhost\"")
    );
}

#[tokio::test]
async fn what_is_no_message_has_a_row_too() {
    let (options, store) = audited();
    let mut pipe = Pipe::ready(&options).await;
    let refused = [
        (json!({ "jsonrpc": "2.0", "id": 1, "method": 5 }), ""),
        (
            json!({ "jsonrpc": "2.0", "id": 2, "method": "ping", "params": [1] }),
            "ping",
        ),
        (json!({ "id": 3, "method": "tools/list" }), "tools/list"),
        (
            json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }),
            "ping",
        ),
        (json!(7), ""),
        (json!([]), ""),
    ];
    for (message, _) in &refused {
        let reply = pipe.ask(message).await;
        assert_eq!(reply["error"]["code"], -32_600, "{message}");
    }
    let reply = pipe.ask_raw("{broken").await;
    assert_eq!(reply["error"]["code"], -32_700);
    let rows = rows(&store, 8).await;
    for (row, (message, method)) in rows.iter().skip(1).zip(&refused) {
        assert_eq!(row.method, *method, "{message}");
        assert_eq!(row.error_code, Some(-32_600), "{message}");
        assert_eq!(row.error_category.as_deref(), Some("protocol"));
        assert!(row.response.as_deref().unwrap().contains("Invalid request"));
        assert_eq!(row.source.as_deref(), Some("tester/7"));
        let id = message.get("id").filter(|id| !id.is_null());
        assert_eq!(row.request_id, id.map(ToString::to_string), "{message}");
    }
    assert_eq!(rows[7].error_code, Some(-32_700));
}

#[tokio::test]
async fn a_refused_client_names_its_method_where_its_headers_do() {
    let (mut options, store) = audited();
    options.api_keys.add("ada=secret").unwrap();
    let server = listen(&options, ListenerKind::Http).await;
    let params = json!({ "name": "echo", "arguments": { "message": "hi" } });
    let message = modern(6, "tools/call", &params).to_string();
    let reply = http(&server, "POST", &modern_headers("echo"), &message).await;
    assert_eq!(reply.status, 401);
    let row = rows(&store, 1).await.pop().unwrap();
    assert_eq!(row.method, "tools/call");
    assert_eq!(row.error_category.as_deref(), Some("auth"));
}

/// On one thread: whoever waits for the audit must leave it to others.
#[tokio::test]
async fn a_locked_audit_holds_up_requests_and_nothing_else() {
    const REQUESTS: usize = 4_000;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lab.db");
    let store = Arc::new(AuditStore::open(&file).unwrap());
    let options = LabOptions {
        audit: Some(Arc::clone(&store)),
        ..LabOptions::default()
    };
    let locked = rusqlite::Connection::open(&file).unwrap();
    locked.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (output, input) = lab::spawn_in_memory(&options);
    let asking = tokio::spawn(async move {
        let mut input = Box::pin(input);
        for id in 0..REQUESTS {
            let line = format!(
                "{}\n",
                modern(id as u64, "tools/list", &json!({ "cursor": "x" }))
            );
            input.write_all(line.as_bytes()).await.unwrap();
        }
        input
    });
    let answered = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&answered);
    let listening = tokio::spawn(async move {
        let mut lines = BufReader::new(Box::pin(output)).lines();
        while count.load(Ordering::SeqCst) < REQUESTS {
            lines.next_line().await.unwrap().unwrap();
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut before = usize::MAX;
    within(async {
        while store.has_room() || before != answered.load(Ordering::SeqCst) {
            before = answered.load(Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    assert!((1..REQUESTS).contains(&before), "{before} answers");
    locked.execute_batch("ROLLBACK").unwrap();
    within(listening).await.unwrap();
    drop(asking.await.unwrap());
    rows(&store, REQUESTS).await;
    assert_eq!(store.loss(), None);
}

#[tokio::test]
async fn a_client_that_no_longer_reads_has_left() {
    let (options, store) = audited();
    let (output, input) = lab::spawn_in_memory(&options);
    let mut input = Box::pin(input);
    let slow = modern(
        1,
        "tools/call",
        &json!({ "name": "slow", "arguments": { "milliseconds": 60_000 } }),
    );
    let discover = modern(2, "server/discover", &json!({}));
    drop(output);
    let lines = format!("{slow}\n{discover}\n");
    within(input.write_all(lines.as_bytes())).await.unwrap();
    // Its stdin is still open.
    let rows = rows(&store, 2).await;
    let slow = rows.iter().find(|row| row.tool_name.is_some()).unwrap();
    let reason = slow.error_message.as_deref();
    assert_eq!(
        reason,
        Some("the client left before the answer"),
        "{slow:?}"
    );
}
