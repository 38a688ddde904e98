//! HTTP+SSE and WebSocket.

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::{found, listening, mock, search};
use crate::fixture::tests::{http, initialize, open, ping, read_until, within};
use crate::mock::ListenerKind;

/// What the stream of an SSE client has after a call that met this fault, and whether it ended.
async fn over_sse(fault: &str, wanted: Option<&str>) -> String {
    let server = listening(&mock(&[fault]), ListenerKind::Sse).await;
    let mut stream = open(&server, "GET", "/sse", &[], "").await;
    let opened = read_until(&mut stream, "\n\n").await;
    let (_, rest) = opened.split_once("/messages?session=").unwrap();
    let path = format!("/messages?session={}", &rest[..32]);
    for message in [initialize(0, "2024-11-05"), search(1, "x"), ping(2)] {
        let sent = http(&server, "POST", &path, &[], &message.to_string()).await;
        // The fault may have closed the stream before the ping.
        assert!(sent.status == 202 || message["id"] == 2);
    }
    if let Some(wanted) = wanted {
        return read_until(&mut stream, wanted).await;
    }
    let mut bytes = Vec::new();
    let _ = within(stream.read_to_end(&mut bytes)).await;
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn faults_over_sse() {
    let healthy = over_sse("none", Some("found x")).await;
    assert!(healthy.contains(&found(1, "x").to_string()));
    over_sse("slow:50", Some("found x")).await;
    over_sse("hang", Some("\"id\":2")).await;
    over_sse("http-status:503", Some("injected HTTP status 503")).await;
    over_sse("duplicate", Some("found x")).await;
    let truncated = over_sse("truncated", None).await;
    assert!(
        truncated.contains("\"id\":1") && !truncated.contains("found x\""),
        "{truncated}"
    );
    let closed = over_sse("disconnect", None).await;
    assert!(!closed.contains("\"id\":1"), "{closed}");
}

/// The frames that a WebSocket client gets after a call that met this fault and a ping: until both are
/// answered, or the connection ends.
async fn over_websocket(fault: &str) -> Vec<Value> {
    let server = listening(&mock(&[fault]), ListenerKind::WebSocket).await;
    let mut request = server.url().into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("sec-websocket-protocol", "mcp".parse().unwrap());
    let (mut socket, _) = {
        let stream = tokio::net::TcpStream::connect(server.addr).await.unwrap();
        tokio_tungstenite::client_async(request, stream)
            .await
            .unwrap()
    };
    let mut answers = Vec::new();
    for message in [initialize(0, "2025-11-25"), search(1, "x"), ping(2)] {
        if socket
            .send(Message::text(message.to_string()))
            .await
            .is_err()
        {
            break;
        }
    }
    while let Some(Ok(frame)) = within(socket.next()).await {
        if let Message::Text(text) = frame {
            answers.push(serde_json::from_str(&text).unwrap_or(Value::Null));
        }
        if answers.len() == 3 {
            break;
        }
    }
    answers
}

#[tokio::test]
async fn faults_over_websocket() {
    assert!(over_websocket("none").await.contains(&found(1, "x")));
    assert!(over_websocket("slow:50").await.contains(&found(1, "x")));
    assert!(over_websocket("malformed").await.contains(&Value::Null));
    let refused = over_websocket("http-status:503").await;
    assert!(
        refused
            .iter()
            .any(|answer| answer["error"]["data"]["status"] == 503)
    );
    for fault in ["truncated", "disconnect", "crash"] {
        let answers = over_websocket(fault).await;
        assert!(
            answers.iter().all(|answer| answer["id"] != 1),
            "{fault}: {answers:?}"
        );
    }
}
