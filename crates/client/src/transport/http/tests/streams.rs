//! Event streams: delivery, listening, resumption.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::*;

#[tokio::test]
async fn every_message_of_a_stream_is_delivered_and_the_connection_kept() {
    let server = TestServer::start(|request| {
        let note = "data: {\"method\":\"note\"}\n\n";
        let other = ": ping\n\nevent: other\ndata: no\n\nid: 1\ndata:\n\n";
        then(events(&[other, note, &data(request.id())]), end())
    })
    .await;
    let client = Client::new(&server);
    client.call(1);
    client.inbox.delivered(2).await;
    client.call(2);
    let texts = client.inbox.delivered(4).await;
    assert_eq!(
        texts,
        [
            r#"{"method":"note"}"#,
            &answer(1),
            r#"{"method":"note"}"#,
            &answer(2)
        ]
    );
    assert!(client.inbox.failures().is_empty());
    assert!(
        server
            .received()
            .iter()
            .all(|request| request.connection == 0)
    );
}

#[tokio::test]
async fn an_accepted_request_is_answered_on_the_listening_stream() {
    let server = TestServer::start(|request| match request.method.as_str() {
        "GET" => {
            let mut steps = events(&["data: {\"method\":\"a\"}\n\n"]);
            steps.push(Step::Pause(Duration::from_millis(300)));
            steps.push(chunk(&data(1)));
            then(steps, Step::Hang)
        }
        _ if request.body.contains("initialize\"") => initialized(),
        _ => accepted(),
    })
    .await;
    let client = Client::new(&server);
    drop(client.channel.listen());
    client.initialize().await;
    client.channel.listen().await;
    client.call(1);
    server.requests(3).await;
    client.inbox.delivered(3).await;
    assert!(client.inbox.failures().is_empty());
    let received = server.received();
    assert_eq!(
        received.len(),
        3,
        "before the handshake there is nothing to listen to"
    );
    assert_eq!(received[1].header("accept"), Some("text/event-stream"));
    assert_eq!(received[1].header("mcp-session-id"), Some("s-1"));
    assert_eq!(received[1].header("last-event-id"), None);
    drop(client);
    eventually("the stream to close", || {
        (server.hangups() == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_accepted_request_is_broken_where_no_stream_is_open() {
    let server = TestServer::start(|request| match request.method.as_str() {
        "GET" => respond("405 Method Not Allowed", "", ""),
        _ if request.body.contains("initialize\"") => initialized(),
        _ => accepted(),
    })
    .await;
    let client = Client::new(&server);
    client.initialize().await;
    client.channel.listen().await;
    client.call(1);
    let (id, failure) = client.inbox.failed().await;
    assert_eq!((id, failure.category), (Some(1), ErrorCategory::Malformed));
    assert!(
        failure.message.starts_with("HTTP 202 without a body"),
        "{failure}"
    );
}

#[tokio::test]
async fn the_listening_stream_reconnects_where_it_was_and_stops_at_405() {
    let count = AtomicUsize::new(0);
    let server = TestServer::start(move |request| match request.method.as_str() {
        "GET" => match count.fetch_add(1, Ordering::Relaxed) {
            0 => then(events(&["retry: 20\nid: a\ndata: {}\n\n"]), Step::Close),
            1 => then(events(&["data: {}\n\nid: b\n\n"]), end()),
            _ => respond("405 Method Not Allowed", "", ""),
        },
        _ => initialized(),
    })
    .await;
    let client = Client::new(&server);
    client.initialize().await;
    drop(client.channel.listen());
    server.requests(4).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let received = server.received();
    assert_eq!(received.len(), 4);
    let ids: Vec<_> = received[1..]
        .iter()
        .map(|get| get.header("last-event-id"))
        .collect();
    assert_eq!(ids, [None, Some("a"), Some("b")]);
    assert!(client.inbox.failures().is_empty());
}

#[tokio::test]
async fn a_stream_dropped_twice_in_a_row_is_resumed_after_the_retry_time() {
    let count = AtomicUsize::new(0);
    let server = TestServer::start(move |request| {
        match (
            request.method.as_str(),
            count.fetch_add(1, Ordering::Relaxed),
        ) {
            (_, 0) => initialized(),
            ("POST", _) => then(events(&["id: p\nretry: 40\ndata:\n\n"]), end()),
            (_, 2) => then(
                events(&["id: q\ndata: {\"method\":\"a\"}\n\n"]),
                Step::Close,
            ),
            (_, 3) => vec![Step::Close],
            _ => then(events(&[&data(1)]), end()),
        }
    })
    .await;
    let client = Client::new(&server);
    client.initialize().await;
    let start = Instant::now();
    client.call(1);
    let texts = client.inbox.delivered(3).await;
    assert_eq!(texts[1..], [r#"{"method":"a"}"#.to_owned(), answer(1)]);
    assert!(start.elapsed() >= Duration::from_millis(3 * 40));
    let received = server.received();
    let ids: Vec<_> = received[2..]
        .iter()
        .map(|get| get.header("last-event-id"))
        .collect();
    assert_eq!(ids, [Some("p"), Some("q"), Some("q")]);
    assert!(
        received[2..]
            .iter()
            .all(|get| get.header("mcp-session-id") == Some("s-1"))
    );
    assert!(client.inbox.failures().is_empty());
}

#[tokio::test]
async fn resuming_without_progress_ends() {
    let server = TestServer::start(|request| match request.method.as_str() {
        "POST" => then(events(&["id: p\nretry: 0\ndata:\n\n"]), end()),
        _ => then(events(&[]), end()),
    })
    .await;
    let client = Client::new(&server);
    client.call(1);
    let (id, failure) = client.inbox.failed().await;
    assert_eq!(
        (id, failure.category),
        (Some(1), ErrorCategory::Disconnected)
    );
    assert_eq!(server.received().len(), 6);
}

#[tokio::test]
async fn a_stream_that_ends_without_ids_or_in_the_stateless_era_is_a_disconnect() {
    let server = TestServer::start(|request| match request.id() {
        1 => then(events(&["data: {}\n\n"]), end()),
        2 => then(events(&["id: 1\ndata: {}\n\n"]), Step::Close),
        _ => then(events(&["id: 1\ndata: {}\n\n"]), end()),
    })
    .await;
    let client = Client::new(&server);
    client.call(1);
    client.inbox.failed().await;
    client.channel.set_revision(Some(Revision::V2026_07_28));
    drop(client.channel.listen());
    client.call(2);
    client.call(3);
    let failures = eventually("failures", || {
        Some(client.inbox.failures()).filter(|all| all.len() == 3)
    })
    .await;
    for (_, failure) in &failures {
        assert_eq!(failure.category, ErrorCategory::Disconnected, "{failure}");
    }
    client.channel.close().await;
    let received = server.received();
    assert_eq!(received.len(), 3);
    assert_eq!(
        received[2].header("mcp-protocol-version"),
        Some("2026-07-28")
    );
    assert_eq!(received[2].header("mcp-method"), Some("tools/call"));
}

#[tokio::test]
async fn a_reply_gets_through_while_every_connection_is_busy() {
    let server = TestServer::start(|request| {
        if request.body.contains("tools/call") {
            then(events(&["data: {\"method\":\"ask\"}\n\n"]), Step::Hang)
        } else {
            accepted()
        }
    })
    .await;
    let options = HttpOptions {
        max_connections: 1,
        ..HttpOptions::default()
    };
    let client = Client::with(&server.url(), options);
    client.call(1);
    client.inbox.delivered(1).await;
    client.call(2);
    client.send(OutgoingKind::Reply, "");
    let received = server.requests(2).await;
    assert!(!received[1].body.contains("tools/call"));
}

#[tokio::test]
async fn a_stream_left_open_after_the_answer_is_closed() {
    let server =
        TestServer::start(|request| then(events(&[&data(request.id())]), Step::Hang)).await;
    let client = Client::new(&server);
    client.call(1);
    client.inbox.delivered(1).await;
    assert!(!client.channel.abandon(1), "the answer was complete");
    eventually("the stream to close", || {
        (server.hangups() == 1).then_some(())
    })
    .await;
    assert!(client.inbox.failures().is_empty());
}
