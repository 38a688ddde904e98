//! The rules of a session over HTTP: headers, sessions that are forgotten, cancelled calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcprove_client::session::{ProtocolChoice, Request};
use mcprove_trace::ErrorCategory;
use mcprove_trace::protocol::{Era, Revision};
use serde_json::json;

use crate::http_server::{Conversation, HttpServer, Received};
use crate::peer::{PATIENCE, discover_result, eventually, initialize_result, options};

const VERSION: &str = "mcp-protocol-version";
const SESSION: &str = "mcp-session-id";

/// Opens a session named `session`; returns the conversation where the request was another.
pub async fn open(
    request: &Received,
    mut conversation: Conversation,
    session: &str,
) -> Option<Conversation> {
    match (request.method.as_str(), request.rpc()) {
        (_, "initialize") => {
            let version = request.body["params"]["protocolVersion"].as_str().unwrap();
            let body = request.answer(&initialize_result(version)).to_string();
            let headers = format!("content-type: application/json\r\n{SESSION}: {session}\r\n");
            conversation.respond("200 OK", &headers, &body).await;
        }
        (_, "server/discover") => conversation.json(&request.answer(&discover_result())).await,
        (_, "notifications/initialized") => conversation.accept().await,
        ("GET", _) => conversation.respond("405 Method Not Allowed", "", "").await,
        ("DELETE", _) => conversation.respond("200 OK", "", "").await,
        _ => return Some(conversation),
    }
    None
}

#[tokio::test]
async fn every_request_has_the_headers_of_its_revision() {
    for revision in Revision::ALL {
        let server = HttpServer::start(|request, conversation| async move {
            if let Some(mut conversation) = open(&request, conversation, "s-1").await {
                let result = json!({ "content": [], "tools": [] });
                conversation.json(&request.answer(&result)).await;
            }
        })
        .await;
        let session = server
            .connect(options(ProtocolChoice::Revision(revision)))
            .await
            .unwrap();
        session.call_tool("écho", &json!({})).await.unwrap();
        session.list_tools().await.unwrap();
        let task = Request::new("tasks/get").params(&json!({ "taskId": "t-1" }));
        session.request(&task).await.unwrap();
        session.notify("notifications/cancelled", Some(&json!({ "requestId": 99 })));
        server.wait_for("notifications/cancelled", 1).await;
        session.close().await;

        let is_stateless = revision.era() == Era::Stateless;
        let received = server.received();
        let methods: Vec<&str> = received
            .iter()
            .map(|request| request.method.as_str())
            .collect();
        assert_eq!(methods.contains(&"GET"), !is_stateless, "{revision}");
        assert_eq!(methods.contains(&"DELETE"), !is_stateless, "{revision}");
        for request in &received {
            let what = format!("{revision}: {} {}", request.method, request.rpc());
            let is_opening = request.rpc() == "initialize";
            let version =
                (revision >= Revision::V2025_06_18 && !is_opening).then(|| revision.as_str());
            assert_eq!(request.header(VERSION), version, "{what}");
            let session = (!is_stateless && !is_opening).then_some("s-1");
            assert_eq!(request.header(SESSION), session, "{what}");
            let rpc = is_stateless.then(|| request.rpc());
            assert_eq!(request.header("mcp-method"), rpc, "{what}");
            let name = match request.rpc() {
                "tools/call" if is_stateless => Some("=?base64?w6ljaG8=?="),
                "tasks/get" if is_stateless => Some("t-1"),
                _ => None,
            };
            assert_eq!(request.header("mcp-name"), name, "{what}");
            let accept = request.header("accept").unwrap();
            assert!(accept.contains("text/event-stream"), "{what}");
            let posts_json = request.method == "POST";
            assert_eq!(accept.contains("application/json"), posts_json, "{what}");
            let content_type = posts_json.then_some("application/json");
            assert_eq!(request.header("content-type"), content_type, "{what}");
        }
    }
}

#[tokio::test]
async fn a_forgotten_session_is_agreed_on_once_for_all_calls_in_flight() {
    const CALLS: usize = 40;
    let (opened, waiting) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let server = HttpServer::start({
        let (opened, waiting) = (Arc::clone(&opened), Arc::clone(&waiting));
        move |request, conversation| {
            let (opened, waiting) = (Arc::clone(&opened), Arc::clone(&waiting));
            async move {
                if request.rpc() == "initialize" {
                    opened.fetch_add(1, Ordering::SeqCst);
                }
                let session = format!("s-{}", opened.load(Ordering::SeqCst));
                let Some(mut conversation) = open(&request, conversation, &session).await else {
                    return;
                };
                if request.header(SESSION) == Some("s-1") {
                    // All calls are in flight before the first one learns that it is over.
                    waiting.fetch_add(1, Ordering::SeqCst);
                    eventually("all calls", || {
                        Some(()).filter(|()| waiting.load(Ordering::SeqCst) >= CALLS)
                    })
                    .await;
                    conversation
                        .respond("404 Not Found", "", "no such session")
                        .await;
                } else {
                    assert_eq!(request.header(SESSION), Some("s-2"));
                    conversation
                        .json(&request.answer(&json!({ "content": [] })))
                        .await;
                }
            }
        }
    })
    .await;
    let session = server
        .connect(options(ProtocolChoice::Revision(Revision::V2025_11_25)))
        .await
        .unwrap();
    let session = Arc::new(session);
    let calls: Vec<_> = (0..CALLS)
        .map(|number| {
            let session = Arc::clone(&session);
            tokio::spawn(async move { session.call_tool("echo", &json!({ "n": number })).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(opened.load(Ordering::SeqCst), 2);
    assert_eq!(server.count("notifications/initialized"), 2);
    assert_eq!(server.count("tools/call"), 2 * CALLS);
    session.call_tool("echo", &json!({})).await.unwrap();
    assert_eq!(server.count("tools/call"), 2 * CALLS + 1);
}

#[tokio::test]
async fn a_session_that_is_always_forgotten_is_not_agreed_on_for_ever() {
    let server = HttpServer::start(|request, conversation| async move {
        if let Some(mut conversation) = open(&request, conversation, "s").await {
            conversation.respond("404 Not Found", "", "").await;
        }
    })
    .await;
    let session = server
        .connect(options(ProtocolChoice::Revision(Revision::V2025_11_25)))
        .await
        .unwrap();
    let error = session.call_tool("echo", &json!({})).await.unwrap_err();
    assert_eq!(error.category(), ErrorCategory::Disconnected);
    assert_eq!(server.count("initialize"), 2);
    assert_eq!(server.count("tools/call"), 2);
}

/// A server on which the tool `hang` is never answered.
async fn hanging() -> HttpServer {
    HttpServer::start(|request, conversation| async move {
        let Some(mut conversation) = open(&request, conversation, "s").await else {
            return;
        };
        if request.body["params"]["name"] == "hang" {
            conversation.wait_for_hangup().await;
        } else if request.body["id"].is_null() {
            conversation.accept().await;
        } else {
            conversation
                .json(&request.answer(&json!({ "content": [] })))
                .await;
        }
    })
    .await
}

#[tokio::test]
async fn a_call_is_cancelled_by_its_stream_or_by_a_notification() {
    for revision in Revision::ALL {
        let server = hanging().await;
        let session = server
            .connect(options(ProtocolChoice::Revision(revision)))
            .await
            .unwrap();
        let hang = Request::tool("hang", &json!({}));
        let dropped = session.start(&hang).unwrap();
        let id = dropped.request_id();
        server.wait_for("tools/call", 1).await;
        drop(dropped);
        if revision.era() == Era::Handshake {
            server.wait_for("notifications/cancelled", 1).await;
            let received = server.received();
            let cancelled = received
                .iter()
                .find(|request| request.rpc() == "notifications/cancelled")
                .unwrap();
            assert_eq!(cancelled.body["params"]["requestId"], id, "{revision}");
        } else {
            server.wait_for_hangups(1).await;
        }
        let error = session
            .request(&hang.timeout(Duration::from_millis(50)))
            .await
            .unwrap_err();
        assert_eq!(error.category(), ErrorCategory::Timeout, "{revision}");
        if revision.era() == Era::Handshake {
            server.wait_for("notifications/cancelled", 2).await;
        } else {
            server.wait_for_hangups(2).await;
            assert_eq!(server.count("notifications/cancelled"), 0);
        }
        session.call_tool("echo", &json!({})).await.unwrap();
        assert!(
            session.violations().is_empty(),
            "{:?}",
            session.violations()
        );
    }
}

#[tokio::test]
async fn calls_that_were_given_up_leave_room_for_others() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = hanging().await;
        let options = options(ProtocolChoice::Revision(revision)).with_max_connections(2);
        let session = server.connect(options).await.unwrap();
        let hang = Request::tool("hang", &json!({})).timeout(Duration::from_millis(50));
        for _ in 0..5 {
            let error = session.request(&hang).await.unwrap_err();
            assert_eq!(error.category(), ErrorCategory::Timeout, "{revision}");
        }
        let alive = session
            .call_tool_within("echo", &json!({}), PATIENCE / 4)
            .await;
        assert!(alive.is_ok(), "{revision}: {alive:?}");
        assert!(server.hangups() <= 5);
    }
}
