use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::{Instant, timeout};

use super::*;
use crate::fixture;
use crate::hosting::host::Stderr;
use crate::hosting::http_limits::{BODY_PAUSE_MAX, BODY_TIME_MAX, HEAD_TIME_MAX};

const HOUR: Duration = Duration::from_hours(1);
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

/// A connection to a healthy server.
fn connect() -> DuplexStream {
    let entry = fixture::find("normal").unwrap();
    let behaviour = (entry.build)(&serde_json::Map::new()).unwrap();
    let host = Host::new(behaviour.into(), Eras::Both, Stderr::Discard);
    let server = HttpServer::new(host, ListenerKind::Http);
    let address = "127.0.0.1:1".parse().unwrap();
    let ends = Ends {
        remote: address,
        local: address,
    };
    let (near, far) = tokio::io::duplex(64 * 1024);
    tokio::spawn(server.serve(far, ends));
    near
}

fn post(length: usize) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// All that is said until the connection is closed, and how long that takes.
async fn heard(mut stream: impl AsyncRead + Unpin) -> (String, Duration) {
    let start = Instant::now();
    let mut text = String::new();
    let end = timeout(HOUR, stream.read_to_string(&mut text)).await;
    end.expect("it is closed").unwrap();
    (text, start.elapsed())
}

fn is_about(took: Duration, limit: Duration) -> bool {
    took >= limit && took < limit + Duration::from_secs(20)
}

/// Says the rest of something byte by byte, for as long as somebody listens.
async fn drip(mut stream: impl AsyncWrite + Unpin) {
    while stream.write_all(b"x").await.is_ok() {
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_says_nothing_is_closed() {
    let mut silent = connect();
    let (text, took) = heard(&mut silent).await;
    assert!(text.is_empty() && is_about(took, HEAD_TIME_MAX), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_head_that_drips_is_given_up() {
    let (reading, mut writing) = tokio::io::split(connect());
    writing
        .write_all(b"POST /mcp HTTP/1.1\r\nX: ")
        .await
        .unwrap();
    tokio::spawn(drip(writing));
    let (_, took) = heard(reading).await;
    assert!(is_about(took, HEAD_TIME_MAX), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_idle_only_so_long_after_an_answer() {
    let mut stream = connect();
    let request = post(INITIALIZE.len()) + INITIALIZE;
    stream.write_all(request.as_bytes()).await.unwrap();
    let (text, took) = heard(stream).await;
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    assert!(is_about(took, HEAD_TIME_MAX), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_or_drips_is_given_up() {
    let mut stream = connect();
    stream.write_all(post(100).as_bytes()).await.unwrap();
    stream.write_all(b"{").await.unwrap();
    let (text, took) = heard(stream).await;
    assert!(text.starts_with("HTTP/1.1 408 "), "{text}");
    assert!(is_about(took, BODY_PAUSE_MAX), "{took:?}");

    let (reading, mut writing) = tokio::io::split(connect());
    writing.write_all(post(10_000).as_bytes()).await.unwrap();
    tokio::spawn(drip(writing));
    let (text, took) = heard(reading).await;
    assert!(text.starts_with("HTTP/1.1 408 "), "{text}");
    assert!(is_about(took, BODY_TIME_MAX), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_stays_open_though_nothing_is_said_on_it() {
    let mut stream = connect();
    let request = post(INITIALIZE.len()) + INITIALIZE;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = vec![0; 64 * 1024];
    let length = stream.read(&mut bytes).await.unwrap();
    let answer = String::from_utf8_lossy(&bytes[..length]).into_owned();
    let session = answer
        .lines()
        .find(|line| line.starts_with("mcp-session-id"));
    let get = format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{}\r\n\r\n",
        session.unwrap_or_else(|| panic!("{answer}"))
    );
    stream.write_all(get.as_bytes()).await.unwrap();
    let mut text = Vec::new();
    let end = timeout(HOUR, stream.read_to_end(&mut text)).await;
    assert!(end.is_err(), "it was closed");
    assert!(String::from_utf8_lossy(&text).contains(": open"));
}
