use std::time::Duration;

use super::*;
use crate::transport::testing::*;
use crate::transport::{Detail, OutgoingKind, SendError};

fn hello(endpoint: &str) -> Vec<Step> {
    events(&[&format!("event: endpoint\ndata: {endpoint}\n\n")])
}

async fn connect(
    server: &TestServer,
    options: HttpOptions,
) -> (Arc<RecordingInbox>, Result<Arc<HttpChannel>, Failure>) {
    let inbox = Arc::new(RecordingInbox::default());
    let user = BTreeMap::from([("X-Key".to_owned(), "k".to_owned())]);
    let url = format!("http://127.0.0.1:{}/a/sse", server.port);
    let channel = super::connect(&url, &user, options, Arc::clone(&inbox) as _).await;
    (inbox, channel)
}

#[tokio::test]
async fn messages_go_to_the_endpoint_and_answers_come_on_the_stream() {
    let server = TestServer::start(|request| match request.method.as_str() {
        "GET" => {
            let mut steps = hello("/a/messages?session=1");
            steps.push(Step::Pause(Duration::from_millis(30)));
            steps.push(chunk(&format!("event: message\ndata: {}\n\n", answer(1))));
            then(steps, end())
        }
        _ => respond("202 Accepted", "content-type: text/plain\r\n", "Accepted"),
    })
    .await;
    let (inbox, channel) = connect(&server, HttpOptions::default()).await;
    let channel = channel.unwrap();
    let (kind, bytes) = call(1);
    inbox.expect(1);
    channel.send(message(kind, "tools/call", &bytes)).unwrap();
    assert_eq!(inbox.delivered(1).await, [answer(1)]);
    let received = server.requests(2).await;
    assert_eq!(received[0].header("accept"), Some("text/event-stream"));
    assert_eq!(received[1].path, "/a/messages?session=1");
    assert!(
        received
            .iter()
            .all(|request| request.header("x-key") == Some("k"))
    );
    assert_eq!(
        inbox.closed_with().await.category,
        ErrorCategory::Disconnected
    );
    assert!(matches!(
        channel.send(message(kind, "tools/call", &bytes)),
        Err(SendError::Closed(_))
    ));
    assert!(inbox.failures().is_empty());
}

#[tokio::test]
async fn the_endpoint_may_be_relative_or_absolute_but_not_elsewhere() {
    let cases = [
        ("messages", Some("/a/messages")),
        ("/messages", Some("/messages")),
        ("?s=1", Some("/a/sse?s=1")),
        ("/m?u=http://127.0.0.2/", Some("/m?u=http://127.0.0.2/")),
        ("ftp://127.0.0.1:PORT/m", None),
        ("http://127.0.0.1:PORT/m", Some("/m")),
        ("http://127.0.0.2:PORT/m", None),
        ("https://127.0.0.1:PORT/m", None),
        ("http://127.0.0.1:1/m", None),
        ("//127.0.0.2/m", None),
        ("not a uri", None),
    ];
    for (endpoint, path) in cases {
        let server = TestServer::start(move |request| match request.method.as_str() {
            "GET" => {
                let host = request.header("host").unwrap();
                let port = host.split_once(':').unwrap().1;
                then(hello(&endpoint.replace("PORT", port)), Step::Hang)
            }
            _ => accepted(),
        })
        .await;
        let (_inbox, channel) = connect(&server, HttpOptions::default()).await;
        assert_eq!(channel.is_ok(), path.is_some(), "{endpoint}");
        if let (Ok(channel), Some(path)) = (channel, path) {
            channel
                .send(message(OutgoingKind::Notification, "x", b"{}"))
                .unwrap();
            assert_eq!(server.requests(2).await[1].path, path);
        }
    }
}

#[tokio::test]
async fn a_refused_post_fails_its_request() {
    let server = TestServer::start(|request| match request.method.as_str() {
        "GET" => then(hello("/m"), Step::Hang),
        _ => respond("400 Bad Request", "", "no session"),
    })
    .await;
    let (inbox, channel) = connect(&server, HttpOptions::default()).await;
    let (kind, bytes) = call(1);
    inbox.expect(1);
    let channel = channel.unwrap();
    channel.send(message(kind, "tools/call", &bytes)).unwrap();
    let (id, failure) = inbox.failed().await;
    assert_eq!((id, failure.detail), (Some(1), Detail::Status(400)));
    channel.close().await;
    eventually("the stream to close", || {
        (server.hangups() == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_server_without_a_stream_or_an_endpoint_is_refused() {
    let server = TestServer::start(|_| respond("404 Not Found", "", "nothing here")).await;
    let failure = connect(&server, HttpOptions::default())
        .await
        .1
        .err()
        .unwrap();
    assert_eq!(failure.detail, Detail::Status(404));
    assert!(failure.message.contains("nothing here"), "{failure}");

    let server = TestServer::start(|_| then(events(&["data: x\n\n"]), Step::Hang)).await;
    let connect_timeout = Duration::from_millis(100);
    let options = HttpOptions {
        connect_timeout,
        ..HttpOptions::default()
    };
    let failure = connect(&server, options).await.1.err().unwrap();
    assert!(
        failure.message.contains("no endpoint event within 0.1 s"),
        "{failure}"
    );
    eventually("the stream to close", || {
        (server.hangups() == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_event_that_never_ends_ends_the_channel() {
    let server = TestServer::start(|_| {
        let mut steps = hello("/m");
        steps.extend((0..50).map(|_| chunk(&format!("data: {}\n", "x".repeat(100)))));
        then(steps, Step::Hang)
    })
    .await;
    let options = HttpOptions {
        max_frame: 1000,
        ..HttpOptions::default()
    };
    let (inbox, channel) = connect(&server, options).await;
    let _channel = channel.unwrap();
    inbox.closed_with().await;
    assert!(matches!(
        inbox.failed().await.1.detail,
        Detail::Oversized { .. }
    ));
}
