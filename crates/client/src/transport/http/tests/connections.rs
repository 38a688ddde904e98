//! Connections: reuse, limits, abandonment, failure, TLS.

use super::*;

#[tokio::test]
async fn abandoning_closes_the_connection_and_the_queue_moves_on() {
    let server = TestServer::start(|request| match request.id() {
        1 => vec![Step::Hang],
        2 => then(events(&["data: {}\n\n"]), Step::Hang),
        _ => json(&answer(request.id())),
    })
    .await;
    let options = HttpOptions {
        max_connections: 1,
        ..HttpOptions::default()
    };
    let client = Client::with(&server.url(), options);
    for id in 1..=4 {
        client.call(id);
    }
    server.requests(1).await;
    assert!(
        client.channel.abandon(3),
        "a message that waits can be abandoned, too"
    );
    assert!(client.channel.abandon(1));
    server.requests(2).await;
    client.inbox.delivered(1).await;
    assert!(client.channel.abandon(2) && !client.channel.abandon(2));
    let texts = client.inbox.delivered(2).await;
    assert_eq!(texts[1], answer(4));
    eventually("both to close", || (server.hangups() == 2).then_some(())).await;
    assert_eq!(server.received().len(), 3);
    tokio::task::yield_now().await;
    assert!(!client.channel.abandon(4) && client.inbox.failures().is_empty());
}

#[tokio::test]
async fn an_answer_cut_short_is_a_disconnect_and_not_sent_again() {
    let server = TestServer::start(|request| match request.id() {
        1 => json(&answer(1)),
        2 => {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";
            vec![Step::Write(head.into()), Step::Close]
        }
        _ => vec![Step::Write(b"HTTP/1.1 20".to_vec()), Step::Close],
    })
    .await;
    let client = Client::new(&server);
    for id in 1..=3 {
        client.call(id);
        eventually("an end", || (!client.inbox.is_waiting(id)).then_some(())).await;
    }
    let failures = client.inbox.failures();
    assert_eq!(
        failures.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
        [Some(2), Some(3)]
    );
    assert!(
        failures
            .iter()
            .all(|(_, each)| each.category == ErrorCategory::Disconnected)
    );
    assert_eq!(server.received().len(), 3);
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_is_replaced() {
    let server = TestServer::start(|request| {
        let mut steps = json(&answer(request.id()));
        steps.push(Step::Close);
        steps
    })
    .await;
    let client = Client::new(&server);
    for id in 1..=5 {
        client.call(id);
        client.inbox.delivered(usize::try_from(id).unwrap()).await;
        // What is sent before the end arrives is lost, and rightly not sent again.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(client.inbox.failures().is_empty());
    assert_eq!(server.received().len(), 5);
}

#[tokio::test]
async fn a_request_that_was_sent_is_not_sent_again() {
    let server = TestServer::start(|request| match request.id() {
        1 => json(&answer(1)),
        // As a server does that dies of the request.
        _ => vec![Step::Close],
    })
    .await;
    let client = Client::new(&server);
    client.call(1);
    client.inbox.delivered(1).await;
    client.call(2);
    let (id, failure) = client.inbox.failed().await;
    assert_eq!(
        (id, failure.category),
        (Some(2), ErrorCategory::Disconnected)
    );
    assert_eq!(server.received().len(), 2);
    // The server may have closed the connection before the request arrived. It is not used for as long again, and on
    // a fresh one there is no such excuse.
    assert_eq!(failure.detail, Detail::KeptConnection);
    client.call(3);
    eventually("an end", || (!client.inbox.is_waiting(3)).then_some(())).await;
    let failures = client.inbox.failures();
    let (_, last) = failures.last().unwrap();
    assert_eq!(
        (last.category, &last.detail),
        (ErrorCategory::Disconnected, &Detail::None)
    );
}

#[tokio::test]
async fn connections_that_a_server_closes_when_they_are_idle_are_not_idle_as_long_again() {
    // Closes what was idle for 150 ms, and cannot say so before.
    let server = TestServer::start(|request| {
        let mut steps = json(&answer(request.id()));
        if request.id() == 1 {
            steps.extend([Step::Pause(Duration::from_millis(150)), Step::Close]);
        }
        steps
    })
    .await;
    let client = Client::new(&server);
    for id in 1..=4 {
        client.call(id);
        client.inbox.delivered(usize::try_from(id).unwrap()).await;
        let idle = if id == 3 { 0 } else { 200 };
        tokio::time::sleep(Duration::from_millis(idle)).await;
    }
    let received = server.received();
    let connections: Vec<usize> = received.iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 1, 2, 2]);
    assert!(client.inbox.failures().is_empty());
}

#[test]
fn what_a_server_closed_limits_what_is_kept() {
    let kept = |answers, idle| connection::Kept {
        answers,
        idle: Duration::from_millis(idle),
    };
    let mut limits = KeepLimits::default();
    assert!(limits.allow(kept(1_000, 60_000)));
    limits.learn(kept(7, 200));
    assert!(limits.allow(kept(1_000, 99)) && !limits.allow(kept(1, 100)));
    limits.learn(kept(10, 1));
    assert!(limits.allow(kept(9, 0)) && !limits.allow(kept(10, 0)));
}

#[tokio::test]
async fn an_answer_may_come_before_all_was_sent() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.read_exact(&mut [0; 100]).await.unwrap();
        // Far less than was sent: whoever only writes would wait for ever.
        let refusal = "HTTP/1.1 413 Content Too Large\r\ncontent-length: 3\r\n\r\nbig";
        socket.write_all(refusal.as_bytes()).await.unwrap();
        let mut next = listener.accept().await.unwrap().0;
        next.read_exact(&mut [0; 100]).await.unwrap();
        let answer = answer(2);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
        let text = format!("{head} {}\r\n\r\n{answer}", answer.len());
        next.write_all(text.as_bytes()).await.unwrap();
        (socket, next)
    });
    let client = Client::with(&url, HttpOptions::default());
    client.inbox.expect(1);
    let giant = vec![b' '; 16 * 1024 * 1024];
    let request = message(OutgoingKind::Request(1), "tools/call", &giant);
    client.channel.send(request).unwrap();
    let (id, failure) = client.inbox.failed().await;
    assert_eq!(id, Some(1));
    assert!(failure.message.contains("413"), "{failure}");
    // The rest of the request would be read as the next one.
    client.call(2);
    client.inbox.delivered(1).await;
    server.await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let unused = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = unused.local_addr().unwrap();
    drop(unused);
    let client = Client::with(&format!("http://{address}/"), HttpOptions::default());
    client.call(1);
    let (id, failure) = client.inbox.failed().await;
    assert_eq!(id, Some(1));
    assert_eq!(
        failure.message,
        format!("cannot connect to {address}: connection refused")
    );
    assert_eq!(failure.category, ErrorCategory::Disconnected);
}

#[tokio::test]
async fn something_that_is_not_http_is_malformed() {
    let server = TestServer::start(|_| vec![Step::Write(b"SSH-2.0\r\n\r\n".to_vec())]).await;
    let client = Client::new(&server);
    client.call(1);
    assert_eq!(
        client.inbox.failed().await.1.category,
        ErrorCategory::Malformed
    );
}

#[tokio::test]
async fn a_full_queue_says_so_and_tells_when_there_is_room() {
    let server = TestServer::start(|request| match request.id() {
        0 => vec![Step::Hang],
        id => json(&answer(id)),
    })
    .await;
    let options = HttpOptions {
        max_connections: 1,
        ..HttpOptions::default()
    };
    let client = Client::with(&server.url(), options);
    client.call(0);
    for id in 1..=pool::MAX_QUEUED as u64 {
        client.call(id);
    }
    let (kind, bytes) = call(9999);
    let send = || client.channel.send(message(kind, "tools/call", &bytes));
    assert_eq!(send(), Err(SendError::Full));
    let room = client.channel.room();
    client.channel.abandon(0);
    room.await;
    assert_eq!(send(), Ok(()));
    client.inbox.delivered(pool::MAX_QUEUED + 1).await;
}

#[tokio::test]
async fn connections_are_bounded_and_all_used() {
    let server = TestServer::start(|request| {
        let mut steps = vec![Step::Pause(Duration::from_millis(5))];
        steps.extend(json(&answer(request.id())));
        steps
    })
    .await;
    let options = HttpOptions {
        max_connections: 4,
        ..HttpOptions::default()
    };
    let client = Client::with(&server.url(), options);
    for id in 1..=40 {
        client.call(id);
    }
    client.inbox.delivered(40).await;
    let connections = server
        .received()
        .iter()
        .map(|request| request.connection)
        .max();
    assert_eq!(connections, Some(3));
}

#[tokio::test]
async fn https_needs_a_certificate_that_is_trusted() {
    let (root, acceptor) = self_signed();
    let handler = |request: &Received| json(&answer(request.id()));
    let server = TestServer::start_with(Some(acceptor), handler).await;
    let url = server.url().replace("http:", "https:");

    let options = HttpOptions {
        extra_roots: vec![root],
        ..HttpOptions::default()
    };
    let client = Client::with(&url, options);
    client.call(1);
    client.inbox.delivered(1).await;
    assert!(client.inbox.failures().is_empty());

    let stranger = Client::with(&url, HttpOptions::default());
    stranger.call(1);
    let (_, failure) = stranger.inbox.failed().await;
    assert_eq!(failure.category, ErrorCategory::Disconnected);
    assert!(failure.message.contains("certificate"), "{failure}");
}

#[tokio::test]
async fn an_address_that_cannot_be_used_is_refused_at_once() {
    for url in [
        "ftp://127.0.0.1/",
        "127.0.0.1:80",
        "http://a:b@127.0.0.1/",
        "http://",
        "/mcp",
    ] {
        let inbox = Arc::new(RecordingInbox::default());
        let none = BTreeMap::new();
        assert!(
            HttpChannel::connect(url, &none, HttpOptions::default(), inbox).is_err(),
            "{url}"
        );
    }
}
