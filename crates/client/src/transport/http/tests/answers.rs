//! Answers that come in one piece, headers and statuses.

use mcprove_trace::protocol::RpcError;

use super::*;

#[tokio::test]
async fn a_json_body_is_the_answer() {
    let server = TestServer::start(|request| json(&answer(request.id()))).await;
    let client = Client::new(&server);
    for id in 1..=3 {
        client.call(id);
        client.inbox.delivered(usize::try_from(id).unwrap()).await;
    }
    assert_eq!(client.inbox.texts(), [answer(1), answer(2), answer(3)]);
    let request = &server.received()[2];
    assert_eq!(
        (request.method.as_str(), request.path.as_str()),
        ("POST", "/mcp?k=1")
    );
    assert_eq!(request.connection, 0, "the connection is reused");
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(
        request.header("accept"),
        Some("application/json, text/event-stream")
    );
    assert_eq!(request.header("x-key"), Some("k"));
    assert_eq!(
        request.header("host"),
        Some(&*format!("127.0.0.1:{}", server.port))
    );
    assert_eq!(request.header("mcp-session-id"), None);
    assert_eq!(request.header("mcp-protocol-version"), None);
}

#[tokio::test]
async fn the_session_is_kept_and_deleted() {
    let server = TestServer::start(|request| match request.method.as_str() {
        "DELETE" => respond("405 Method Not Allowed", "", ""),
        _ if request.body.contains("initialize\"") => initialized(),
        _ => json(&answer(request.id())),
    })
    .await;
    let client = Client::new(&server);
    client.initialize().await;
    client.call(1);
    client.inbox.delivered(2).await;
    client.channel.close().await;
    let received = server.received();
    assert_eq!(received[0].header("mcp-session-id"), None);
    for request in &received[1..] {
        assert_eq!(request.header("mcp-session-id"), Some("s-1"));
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"));
    }
    assert_eq!(received[2].method, "DELETE");
    let (kind, bytes) = call(2);
    let error = client
        .channel
        .send(message(kind, "tools/call", &bytes))
        .unwrap_err();
    assert!(matches!(error, SendError::Closed(_)));
}

#[tokio::test]
async fn a_404_ends_the_session_unless_it_is_about_the_method() {
    let server = TestServer::start(|request| match request.body.as_str() {
        body if body.contains("initialize\"") => initialized(),
        body if body.contains("\"id\":1") => respond(
            "404 Not Found",
            "content-type: application/json\r\n",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#,
        ),
        _ => respond(
            "404 Not Found",
            "content-type: application/json\r\n",
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no such method"}}"#,
        ),
    })
    .await;
    let client = Client::new(&server);
    client.initialize().await;
    client.call(1);
    let (id, failure) = client.inbox.failed().await;
    assert_eq!((id, &failure.detail), (Some(1), &Detail::SessionExpired));
    assert_eq!(failure.category, ErrorCategory::Disconnected);
    assert!(
        failure.message.contains("Session not found (-32001)"),
        "{failure}"
    );
    client.call(2);
    let (id, failure) = eventually("a second failure", || {
        client.inbox.failures().get(1).cloned()
    })
    .await;
    assert_eq!(id, Some(2));
    assert!(
        matches!(&failure.detail, Detail::Error(error) if error.code == -32601),
        "{failure:?}"
    );
}

#[tokio::test]
async fn statuses_become_failures() {
    let server = TestServer::start(|request| match request.id() {
        1 => respond("503 Service Unavailable", "", "busy"),
        2 => respond("401 Unauthorized", "", ""),
        3 => respond(
            "400 Bad Request",
            "content-type: application/json\r\n",
            r#"{"jsonrpc":"2.0","error":{"code":-32020,"message":"mismatch"}}"#,
        ),
        4 => respond("200 OK", "content-type: text/html\r\n", "<p>"),
        5 => respond("200 OK", "", ""),
        6 => respond(
            "429 Too Many Requests",
            "content-type: application/json\r\n",
            r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32000,"message":"wait"}}"#,
        ),
        _ => json(&answer(request.id())),
    })
    .await;
    let client = Client::new(&server);
    let expected = [
        (
            ErrorCategory::ServerError,
            Detail::Status(503),
            "HTTP 503 Service Unavailable: busy",
        ),
        (
            ErrorCategory::ProtocolError,
            Detail::Denied(Denial::Token),
            "HTTP 401 Unauthorized",
        ),
        (
            ErrorCategory::ProtocolError,
            Detail::Error(Box::new(RpcError {
                code: -32020,
                message: "mismatch".into(),
                data: None,
            })),
            "HTTP 400 Bad Request: mismatch (-32020)",
        ),
        (
            ErrorCategory::Malformed,
            Detail::None,
            "HTTP 200 OK with a body that is neither application/json nor text/event-stream: <p>",
        ),
        (
            ErrorCategory::Malformed,
            Detail::None,
            "HTTP 200 OK with an empty body where the answer belongs",
        ),
        (
            ErrorCategory::ProtocolError,
            Detail::Status(429),
            "HTTP 429 Too Many Requests: wait (-32000)",
        ),
    ];
    for (index, (category, detail, text)) in expected.into_iter().enumerate() {
        client.call(index as u64 + 1);
        let (id, failure) =
            eventually("a failure", || client.inbox.failures().get(index).cloned()).await;
        assert_eq!(id, Some(index as u64 + 1));
        assert_eq!(failure, Failure::new(category, text).with(detail));
    }
    client.call(7);
    client.inbox.delivered(1).await;
    assert!(
        server
            .received()
            .iter()
            .all(|request| request.connection == 0)
    );
}

#[tokio::test]
async fn notifications_and_raw_bytes_report_refusals_without_an_id() {
    let server = TestServer::start(|request| match request.body.as_str() {
        "{" => respond("400 Bad Request", "content-type: text/plain\r\n", "no JSON"),
        "fine" => respond("200 OK", "content-type: text/plain\r\n", "yes"),
        _ => respond("500 Internal Server Error", "", ""),
    })
    .await;
    let client = Client::new(&server);
    client
        .channel
        .send(message(OutgoingKind::Raw, "", b"fine"))
        .unwrap();
    client.inbox.delivered(1).await;
    client
        .channel
        .send(message(OutgoingKind::Raw, "", b"{"))
        .unwrap();
    client.inbox.failed().await;
    client.send(OutgoingKind::Notification, "notifications/cancelled");
    eventually("two failures", || {
        (client.inbox.failures().len() == 2).then_some(())
    })
    .await;
    assert_eq!(client.inbox.texts(), ["yes"]);
    let details: Vec<_> = client.inbox.failures();
    assert!(details.iter().all(|(id, _)| id.is_none()));
    assert_eq!(details[0].1.detail, Detail::Status(400));
    assert!(details[0].1.message.contains("no JSON"));
    assert_eq!(details[1].1.detail, Detail::Status(500));
}

#[tokio::test]
async fn nothing_overtakes_the_initialized_notification() {
    let server = TestServer::start(|request| {
        if request.body.contains("\"id\"") {
            return json(&answer(request.id()));
        }
        let mut steps = vec![Step::Pause(Duration::from_millis(50))];
        steps.extend(accepted());
        steps
    })
    .await;
    let client = Client::new(&server);
    client.send(OutgoingKind::Notification, "notifications/initialized");
    client.call(1);
    client.call(2);
    client.inbox.delivered(2).await;
    assert!(!server.received()[0].body.contains("\"id\""));
}

#[tokio::test]
async fn what_is_over_the_limit_is_refused_with_its_beginning() {
    let server = TestServer::start(|request| {
        if request.id() == 1 {
            return json(&format!("{{\"id\":1,{}}}", " ".repeat(5000)));
        }
        let mut steps = events(&["data: {\"id\":2,"]);
        steps.extend((0..100).map(|_| chunk(&"x".repeat(1000))));
        then(steps, Step::Hang)
    })
    .await;
    let options = HttpOptions {
        max_frame: 4500,
        ..HttpOptions::default()
    };
    let client = Client::with(&server.url(), options);
    client.call(1);
    client.inbox.failed().await;
    client.call(2);
    let failures = eventually("failures", || {
        Some(client.inbox.failures()).filter(|all| all.len() == 2)
    })
    .await;
    for (index, (_, failure)) in failures.into_iter().enumerate() {
        assert_eq!(failure.category, ErrorCategory::Malformed);
        let Detail::Oversized { size, head } = failure.detail else {
            panic!("{failure:?}")
        };
        assert!((4501..=6000).contains(&size), "{size}");
        assert!(
            head.starts_with(format!("{{\"id\":{},", index + 1).as_bytes()),
            "{head:?}"
        );
    }
}
