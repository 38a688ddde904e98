//! A session that the server has forgotten, while several calls are made on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::server::Server;
use crate::transport::testing::{Received, Step, TestServer, accepted, answer, respond};

const NOT_FOUND: &str =
    r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"}}"#;
const NO_SESSION: &str =
    r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Mcp-Session-Id header is required"}}"#;

/// A server that takes its time to begin a second session, once it has forgotten the first.
fn forgetful(request: &Received, has_forgotten: &AtomicBool) -> Vec<Step> {
    let is_second = has_forgotten.load(Ordering::Relaxed);
    let content = "content-type: application/json\r\n";
    if request.method != "POST" {
        return respond("405 Method Not Allowed", "", "");
    }
    if request.body.contains("\"initialize\"") {
        let session = if is_second { "two" } else { "one" };
        let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
        let body = json!({ "jsonrpc": "2.0", "id": request.id(), "result": result }).to_string();
        let pause = Duration::from_millis(if is_second { 200 } else { 0 });
        let headers = format!("{content}mcp-session-id: {session}\r\n");
        let mut steps = vec![Step::Pause(pause)];
        steps.extend(respond("200 OK", &headers, &body));
        return steps;
    }
    match request.header("mcp-session-id") {
        None => respond("400 Bad Request", content, NO_SESSION),
        Some("one") if is_second => respond("404 Not Found", content, NOT_FOUND),
        Some(_) if request.body.contains("notifications/") => accepted(),
        Some(_) => respond("200 OK", content, &answer(request.id())),
    }
}

#[tokio::test]
async fn calls_wait_for_a_session_that_is_agreed_on_again() {
    let has_forgotten = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&has_forgotten);
    let server = TestServer::start(move |request| forgetful(request, &flag)).await;
    let options = SessionOptions {
        protocol: ProtocolChoice::Revision(Revision::V2025_11_25),
        ..SessionOptions::default()
    };
    let session = Session::connect_with(&Server::http(server.url()), options)
        .await
        .unwrap();
    let request = Request::new("any/method");
    session.request(&request).await.unwrap();
    has_forgotten.store(true, Ordering::Relaxed);
    let later = |after: u64| {
        let (session, request) = (&session, &request);
        async move {
            tokio::time::sleep(Duration::from_millis(after)).await;
            session.request(request).await.map(drop)
        }
    };
    let outcomes = tokio::join!(later(0), later(20), later(100));
    assert!(outcomes.0.is_ok(), "{:?}", outcomes.0);
    assert!(outcomes.1.is_ok(), "{:?}", outcomes.1);
    assert!(outcomes.2.is_ok(), "{:?}", outcomes.2);
    let calls = server.received().into_iter();
    let calls = calls.filter(|request| request.body.contains("any/method"));
    assert!(
        calls
            .clone()
            .all(|call| call.header("mcp-session-id").is_some())
    );
    let initialized = server.received().into_iter();
    let initialized = initialized.filter(|request| request.body.contains("\"initialize\""));
    assert_eq!(initialized.count(), 2);
}
