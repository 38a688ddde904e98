//! Who is let in over the network.

use mcprove_servers::hosting::listener::ListenerKind;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::support::{
    audited, call, http, initialize, listen, modern_headers, open_session, rows, structured,
    wait_for,
};
use crate::{ApiKeys, LabOptions};

fn keys() -> ApiKeys {
    let mut keys = ApiKeys::default();
    keys.add("ada=first-key").unwrap();
    keys.add("grace=second-key").unwrap();
    keys
}

#[tokio::test]
async fn a_bad_or_missing_key_is_answered_with_401_at_once_and_has_a_row() {
    let (options, store) = audited();
    let options = LabOptions {
        api_keys: keys(),
        ..options
    };
    let server = listen(&options, ListenerKind::Http).await;
    let message = initialize(0, "2025-11-25").to_string();
    let reply = http(&server, "POST", &[], &message).await;
    assert_eq!(reply.status, 401);
    assert!(
        reply
            .header("www-authenticate")
            .unwrap()
            .starts_with("Bearer realm=")
    );
    let wrong = [("X-Api-Key", "wrong-key-nobody-has")];
    for method in ["POST", "GET", "DELETE"] {
        let reply = http(&server, method, &wrong, &message).await;
        assert_eq!(reply.status, 401, "{method}");
        assert!(
            reply
                .header("www-authenticate")
                .unwrap()
                .contains("invalid_token")
        );
    }
    // Not even what is no request is read.
    let reply = http(&server, "POST", &[("Authorization", "Bearer no")], "{").await;
    assert_eq!(reply.status, 401);
    for row in rows(&store, 5).await {
        assert_eq!(row.error_category.as_deref(), Some("auth"));
        assert!(!row.success && row.error_message.as_deref().unwrap().contains("401"));
        // The body is not read, so that nothing is known of what was asked; a line of text was answered.
        assert_eq!((row.method.as_str(), row.request_id.as_deref()), ("", None));
        assert_eq!((row.error_code, row.parameters.as_deref()), (None, None));
        let response: Value = serde_json::from_str(row.response.as_deref().unwrap()).unwrap();
        let said = response.as_str().unwrap();
        assert!(said.contains("API key"), "{row:?}");
        assert_eq!(row.response_chars, said.chars().count() as u64 + 1);
        assert!(!format!("{row:?}").contains("nobody-has"), "{row:?}");
    }
}

#[tokio::test]
async fn the_name_of_a_key_is_the_user() {
    let (options, store) = audited();
    let options = LabOptions {
        api_keys: keys(),
        ..options
    };
    let server = listen(&options, ListenerKind::Http).await;
    let ada = [
        ("Authorization", "Bearer first-key"),
        ("User-Agent", "tester/7"),
    ];
    let session = open_session(&server, &ada).await;
    let named = [ada[0], ada[1], ("Mcp-Session-Id", session.as_str())];
    let message = call(1, "whoami", &json!({})).to_string();
    let body = structured(&http(&server, "POST", &named, &message).await.json());
    assert_eq!(body["user"], "ada");
    assert_eq!(body["auth_type"], "api_key");
    assert_eq!(body["transport"], "http");
    assert_eq!(body["session_id"], session.as_str());
    assert_eq!(body["user_agent"], "tester/7");
    assert_eq!(body["client"]["name"], "tester");
    assert_eq!(body["protocol_version"], "2025-11-25");
    // The session of one user does not exist for another.
    let grace = [
        ("X-Api-Key", "second-key"),
        ("Mcp-Session-Id", session.as_str()),
    ];
    assert_eq!(http(&server, "POST", &grace, &message).await.status, 404);
    let rows = rows(&store, 3).await;
    assert_eq!(rows[1].user.as_deref(), Some("ada"));
    assert_eq!(rows[1].auth_type.as_deref(), Some("api_key"));
    assert_eq!(rows[2].user.as_deref(), Some("grace"));
    assert_eq!(rows[2].tool_name.as_deref(), Some("whoami"));
    let headers = rows[1].headers.as_deref().unwrap();
    assert!(
        headers.contains("<redacted>") && !headers.contains("first-key"),
        "{headers}"
    );
}

#[tokio::test]
async fn the_other_networks_want_keys_too() {
    let options = LabOptions {
        api_keys: keys(),
        ..LabOptions::default()
    };
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mcp\r\n";
    for (kind, path, headers) in [
        (ListenerKind::Sse, "/sse", ""),
        (ListenerKind::WebSocket, "/", upgrade),
    ] {
        let server = listen(&options, kind).await;
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let head = wait_for(&mut stream, "\r\n\r\n").await.to_lowercase();
        assert!(head.starts_with("http/1.1 401"), "{head}");
        assert!(head.contains("www-authenticate: bearer realm="), "{head}");
    }
}

#[tokio::test]
async fn secrets_in_headers_are_not_shown() {
    let server = listen(&LabOptions::default(), ListenerKind::Http).await;
    let session = open_session(&server, &[]).await;
    let headers = [
        ("Mcp-Session-Id", session.as_str()),
        ("Authorization", "Bearer abcdef"),
        ("Cookie", "id=abcdef"),
        ("Proxy-Authorization", "Basic abcdef"),
        ("X-Gateway-Token", "abcdef"),
        ("X-Api-Key", "abcdef"),
        ("X-Trace", "t-1"),
    ];
    let message = call(1, "headers", &json!({})).to_string();
    let reply = http(&server, "POST", &headers, &message).await;
    let shown = structured(&reply.json())["headers"].clone();
    assert_eq!(shown["x-trace"], "t-1");
    assert_eq!(shown["x-api-key"], "<redacted>");
    assert_eq!(shown["authorization"], "<redacted>");
    assert!(!reply.body.contains("abcdef"), "{reply:?}");
}

#[tokio::test]
async fn what_a_client_without_a_key_says_of_its_method_is_kept() {
    let (options, store) = audited();
    let options = LabOptions {
        api_keys: keys(),
        ..options
    };
    let server = listen(&options, ListenerKind::Http).await;
    let headers = modern_headers("echo");
    assert_eq!(http(&server, "POST", &headers, "{}").await.status, 401);
    let row = rows(&store, 1).await.pop().unwrap();
    assert_eq!(row.method, "tools/call");
    assert_eq!(row.tool_name, None);
}
