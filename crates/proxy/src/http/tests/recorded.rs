//! What is written down over HTTP, and real clients through the proxy.

use std::sync::Arc;

use mcprove_client::server::Server;
use mcprove_client::session::{Session, SessionOptions};
use mcprove_import as import;
use mcprove_recording::{Origin, Recording};
use mcprove_servers::fixture::{self, FixtureOptions, ListenerKind};
use mcprove_trace::TraceRecord;
use mcprove_trace::stream::EventStream;
use serde_json::json;

use super::peers::{RawServer, Running, call, serve_events, serve_json};
use crate::Settings;

#[tokio::test]
async fn answers_are_recorded_whether_json_or_events() {
    for is_stream in [false, true] {
        let server = if is_stream {
            RawServer::start(serve_events).await
        } else {
            RawServer::start(serve_json).await
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        let recording = Recording::create(
            file.path(),
            &Origin::new("proxy", "api"),
            &mcprove_settings::secret::Redactor::default(),
        )
        .unwrap();
        let proxy = Running::start(
            &server.url,
            Settings {
                server_name: "api".to_owned(),
                faults: vec!["error,tool=bad".parse().unwrap()],
                recording: Some(recording),
                ..Settings::default()
            },
        )
        .await;
        let list = r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#;
        for message in [list, &call("\"a\"", "good"), &call("\"b\"", "bad")] {
            proxy.post(message).await.unwrap();
        }
        proxy.stop().await;
        let text = std::fs::read_to_string(file.path()).unwrap();
        let lines: Vec<TraceRecord> = text
            .lines()
            .map(|line| TraceRecord::parse(line).unwrap())
            .collect();
        let listed = lines
            .iter()
            .find(|line| line.kind == "response" && line.method.as_deref() == Some("tools/list"));
        assert_eq!(
            listed.unwrap().result.as_ref().unwrap()["tools"][0]["name"],
            "gone"
        );
        let run = &import::import(&text).unwrap().trace.runs[0];
        let errors: Vec<_> = run
            .tool_results
            .iter()
            .map(|result| result.is_error)
            .collect();
        assert_eq!(errors, [Some(false), Some(true)], "{text}");
    }
}

#[tokio::test]
async fn secrets_of_headers_are_not_recorded() {
    let server = RawServer::start(serve_json).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let recording = Recording::create(
        file.path(),
        &Origin::new("proxy", "api"),
        &mcprove_settings::secret::Redactor::default(),
    )
    .unwrap();
    let settings = Settings {
        recording: Some(recording),
        ..Settings::default()
    };
    let proxy = Running::start(&server.url, settings).await;
    // Somebody sends it back.
    let message = call("1", "echo").replace("echo", "echo-s3cret-99");
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer s3cret-99\r\nContent-Length: {}\r\n\r\n{message}",
        message.len()
    );
    proxy.exchange(request.as_bytes()).await.unwrap();
    assert_eq!(
        server.asked()[0].header("authorization"),
        Some("Bearer s3cret-99")
    );
    proxy.stop().await;
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert!(
        text.contains("tools/call") && !text.contains("s3cret"),
        "{text}"
    );
}

#[tokio::test]
async fn our_own_client_works_through_it_in_both_eras() {
    for era in ["handshake", "stateless"] {
        let options = FixtureOptions {
            eras: era.parse().unwrap(),
            ..FixtureOptions::default()
        };
        let addr = "127.0.0.1:0".parse().unwrap();
        let server = fixture::listen("normal", ListenerKind::Http, addr, &options)
            .await
            .unwrap();
        let proxy = Running::with(&server.url(), &["slow:30,tool=add"]).await;
        let at = Server::http(format!("http://{}/mcp", proxy.addr));
        let recorder = EventStream::unobserved().recorder();
        let session = Session::connect_recorded(&at, SessionOptions::default(), recorder).await;
        let session = Arc::new(session.unwrap());
        let calls = (0..20).map(|number| {
            let session = Arc::clone(&session);
            async move {
                let arguments = json!({"message": format!("m{number}")});
                let reply = session.call_tool("echo", &arguments).await.unwrap();
                assert!(reply.result().contains(&format!("m{number}")));
            }
        });
        futures_util::future::join_all(calls).await;
        session
            .call_tool("add", &json!({"a": 1, "b": 2}))
            .await
            .unwrap();
        let summary = proxy.stop().await.summary;
        let calls = summary.calls.unwrap();
        assert_eq!((calls.calls, calls.faulted_calls.len()), (21, 1), "{era}");
    }
}
