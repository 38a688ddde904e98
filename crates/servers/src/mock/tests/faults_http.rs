//! Every kind of fault over HTTP, in both eras.

use mcprove_trace::protocol::Era;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::{found, listening, mock, search};
use crate::fixture::tests::{HttpReply, http, initialize, modern, open, parse_http, ping, within};
use crate::mock::{ListenerKind, Listening};

/// Posts a call in this era, and reads all bytes that come.
async fn post(server: &Listening, era: Era, message: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut stream = open_post(server, era, message).await;
    // A connection that is closed in the middle may end in an error.
    let _ = within(stream.read_to_end(&mut bytes)).await;
    bytes
}

async fn open_post(server: &Listening, era: Era, message: &Value) -> tokio::net::TcpStream {
    match era {
        Era::Handshake => {
            let body = initialize(0, "2025-11-25").to_string();
            let reply = http(server, "POST", "/mcp", &[], &body).await;
            let session = reply.header("mcp-session-id").unwrap();
            let headers = [("Mcp-Session-Id", session)];
            open(server, "POST", "/mcp", &headers, &message.to_string()).await
        }
        Era::Stateless => {
            let method = message["method"].as_str().unwrap();
            let message = modern(
                message["id"].as_u64().unwrap(),
                method,
                message["params"].clone(),
            );
            let headers = [
                ("MCP-Protocol-Version", "2026-07-28"),
                ("Mcp-Method", method),
                ("Mcp-Name", "search"),
            ];
            open(server, "POST", "/mcp", &headers, &message.to_string()).await
        }
    }
}

async fn reply(fault: &str, era: Era) -> HttpReply {
    let server = listening(&mock(&[fault]), ListenerKind::Http).await;
    parse_http(&post(&server, era, &search(1, "x")).await)
}

const ERAS: [Era; 2] = [Era::Handshake, Era::Stateless];

#[tokio::test]
async fn faults_that_say_something_else() {
    for era in ERAS {
        for (fault, pointer, expected) in [
            ("none", "/result/content/0/text", json!("found x")),
            ("error:-5", "/error/code", json!(-5)),
            ("flaky:1", "/error/code", json!(-32000)),
            ("tool-error", "/result/isError", json!(true)),
            ("corrupt", "/result/content/0/text", json!("x dnuof")),
            ("empty", "/result/content", json!([])),
            ("vanish", "/error/code", json!(-32602)),
            ("wrong-id", "/id", json!(1_000_000_001)),
            ("slow:1", "/result/content/0/text", json!("found x")),
            ("jitter:0-2", "/result/content/0/text", json!("found x")),
            ("reorder:1", "/result/content/0/text", json!("found x")),
            (
                "reply-after-cancel:1",
                "/result/content/0/text",
                json!("found x"),
            ),
        ] {
            let reply = reply(fault, era).await;
            assert_eq!(reply.status, 200, "{fault}");
            assert_eq!(
                reply.json().pointer(pointer),
                Some(&expected),
                "{fault} {era:?}"
            );
        }
    }
    let reply = reply("oversized:100000", Era::Handshake).await;
    assert!(reply.body.len() > 100_000);
}

#[tokio::test]
async fn a_status_with_retry_after() {
    for era in ERAS {
        let reply = reply("http-status:429-7", era).await;
        assert_eq!(
            (reply.status, reply.header("retry-after")),
            (429, Some("7"))
        );
    }
}

#[tokio::test]
async fn broken_frames() {
    for era in ERAS {
        let malformed = reply("malformed", era).await;
        assert!(malformed.body.starts_with("}{{\""), "{}", malformed.body);
        let server = listening(&mock(&["truncated"]), ListenerKind::Http).await;
        let bytes = post(&server, era, &search(1, "x")).await;
        let text = String::from_utf8(bytes).unwrap();
        assert!(
            text.contains("200 OK") && text.contains("\"jsonrpc\""),
            "{text}"
        );
        assert!(
            !text.ends_with("0\r\n\r\n") && !text.contains("found x\""),
            "{text}"
        );
    }
}

#[tokio::test]
async fn more_than_the_reply_is_a_stream() {
    for era in ERAS {
        let twice = reply("duplicate", era).await;
        let events = twice.events();
        assert_eq!(events.len(), 2);
        assert_eq!(events[0], events[1]);
        let noise = reply("noise", era).await;
        assert!(noise.body.contains("data: DEBUG"), "{}", noise.body);
        assert!(noise.body.contains("found x"));
    }
    assert_eq!(
        reply("duplicate", Era::Handshake).await.events()[0],
        found(1, "x")
    );
}

#[tokio::test]
async fn progress_without_an_end() {
    let server = listening(&mock(&["progress-forever:1"]), ListenerKind::Http).await;
    let mut message = search(1, "x");
    message["params"]["_meta"]["progressToken"] = json!(9);
    let mut stream = open_post(&server, Era::Handshake, &message).await;
    crate::fixture::tests::read_until(&mut stream, "\"progress\":3").await;
}

#[tokio::test]
async fn a_disconnect_is_no_answer_at_all_and_a_crash_ends_the_server() {
    for era in ERAS {
        let server = listening(&mock(&["disconnect"]), ListenerKind::Http).await;
        assert_eq!(post(&server, era, &search(1, "x")).await, b"");
        // The server itself goes on.
        let reply = http(
            &server,
            "POST",
            "/mcp",
            &[],
            &initialize(0, "2025-11-25").to_string(),
        )
        .await;
        assert_eq!(reply.status, 200);
        let server = listening(&mock(&["crash"]), ListenerKind::Http).await;
        assert_eq!(post(&server, era, &search(1, "x")).await, b"");
        assert_eq!(within(server.ended()).await, 1);
    }
}

#[tokio::test]
async fn silence_holds_up_nobody_else() {
    for era in ERAS {
        for fault in [
            "hang",
            "wedged",
            "recover-after:1",
            "lose-request",
            "lose-reply",
        ] {
            let server = listening(&mock(&[fault]), ListenerKind::Http).await;
            let mut silent = open_post(&server, era, &search(1, "x")).await;
            let body = initialize(0, "2025-11-25").to_string();
            let greeting = http(&server, "POST", "/mcp", &[], &body).await;
            let session = greeting.header("mcp-session-id").unwrap();
            let headers = [("Mcp-Session-Id", session)];
            let body = ping(2).to_string();
            assert_eq!(
                http(&server, "POST", "/mcp", &headers, &body).await.status,
                200
            );
            let mut byte = [0];
            let quiet = std::time::Duration::from_millis(100);
            let read = tokio::time::timeout(quiet, silent.read(&mut byte)).await;
            assert!(read.is_err(), "{fault} {era:?}");
        }
    }
}
