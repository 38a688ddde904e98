//! What each fault does over HTTP.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::timeout;

use super::peers::{
    DEADLINE, HttpMessage, RawServer, Running, call, cancel, in_session, post, serve_events,
    serve_json,
};
use crate::summary::NextStep;

const SILENCE: Duration = Duration::from_millis(150);

/// Calls once under a fault; the answer, and how often the server was asked.
async fn struck(fault: &str, is_stream: bool) -> (Option<HttpMessage>, usize) {
    let server = if is_stream {
        RawServer::start(serve_events).await
    } else {
        RawServer::start(serve_json).await
    };
    let proxy = Running::with(&server.url, &[fault]).await;
    let heard = proxy.post(&call("\"x\"", "echo")).await;
    (heard, server.asked().len())
}

/// What the answer to the call says, as JSON or as the last event.
fn answer(heard: &HttpMessage) -> Value {
    let is_stream = heard.header("content-type") == Some("text/event-stream");
    let text = if is_stream {
        heard.events().pop().unwrap()
    } else {
        heard.text()
    };
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{heard:?}: {error}"))
}

#[tokio::test]
async fn kinds_that_do_not_reach_the_server() {
    for is_stream in [false, true] {
        for (fault, code) in [
            ("error:-32050", -32050),
            ("flaky:1.0", -32000),
            ("vanish", -32602),
        ] {
            let (heard, asked) = struck(fault, is_stream).await;
            let heard = heard.unwrap();
            assert_eq!(heard.status(), 200, "{fault}");
            assert_eq!(heard.header("content-type"), Some("application/json"));
            assert_eq!(heard.json()["error"]["code"], code, "{fault}");
            assert_eq!(heard.json()["id"], "x");
            assert_eq!(asked, 0);
        }
        let (heard, asked) = struck("tool-error", is_stream).await;
        assert_eq!(heard.unwrap().json()["result"]["isError"], true);
        assert_eq!(asked, 0);
        let (heard, asked) = struck("http-status:429-7", is_stream).await;
        let heard = heard.unwrap();
        assert_eq!((heard.status(), asked), (429, 0));
        assert_eq!(heard.header("retry-after"), Some("7"));
        let (heard, asked) = struck("disconnect", is_stream).await;
        assert_eq!((heard, asked), (None, 0));
    }
}

#[tokio::test]
async fn kinds_that_let_the_server_answer() {
    for is_stream in [false, true] {
        for fault in ["slow:20", "jitter:1-20", "reorder", "reply-after-cancel:1"] {
            let (heard, asked) = struck(fault, is_stream).await;
            let heard = heard.unwrap();
            assert_eq!(
                answer(&heard)["result"]["content"][0]["text"],
                "fine",
                "{fault}"
            );
            assert_eq!((heard.header("x-own"), asked), (Some("kept"), 1));
            if is_stream {
                // What was said before the answer is there too.
                assert!(
                    heard.events()[0].contains("notifications/message")
                        || heard.text().starts_with(": hello")
                );
                assert!(heard.text().contains("id: 7\n"), "{}", heard.text());
            }
        }
        let heard = struck("corrupt", is_stream).await.0.unwrap();
        assert_ne!(answer(&heard)["result"]["content"][0]["text"], "fine");
        let heard = struck("empty", is_stream).await.0.unwrap();
        assert_eq!(answer(&heard)["result"]["content"], json!([]));
        let heard = struck("oversized:200000", is_stream).await.0.unwrap();
        assert!(heard.is_whole && heard.body.len() > 200_000);
        let heard = struck("wrong-id", is_stream).await.0.unwrap();
        assert_eq!(answer(&heard)["id"], "not x");
        let heard = struck("malformed", is_stream).await.0.unwrap();
        assert!(heard.text().contains("}{"), "{heard:?}");
        let heard = struck("truncated", is_stream).await.0.unwrap();
        assert!(!heard.is_whole && heard.status() == 200, "{heard:?}");
    }
}

#[tokio::test]
async fn kinds_that_say_more_than_one_thing_make_a_stream() {
    for is_stream in [false, true] {
        let heard = struck("duplicate", is_stream).await.0.unwrap();
        assert_eq!(heard.header("content-type"), Some("text/event-stream"));
        let events = heard.events();
        let last = &events[events.len() - 2..];
        assert_eq!(last[0], last[1]);
        let heard = struck("noise", is_stream).await.0.unwrap();
        assert!(heard.text().contains("data: DEBUG"), "{heard:?}");
        assert_eq!(answer(&heard)["id"], "x");
    }
    let server = RawServer::start(serve_json).await;
    let proxy = Running::with(&server.url, &["progress-forever:10"]).await;
    let mut wire = proxy.connect().await;
    wire.write(&post("/mcp", &call("1", "echo"))).await;
    wire.read_head().await.unwrap();
    for _ in 0..3 {
        let chunk = timeout(DEADLINE, wire.read_chunk()).await.unwrap().unwrap();
        let text = String::from_utf8(chunk).unwrap();
        assert!(text.contains("notifications/progress"), "{text}");
    }
}

#[tokio::test]
async fn kinds_that_never_answer() {
    for (fault, asked) in [
        ("hang", 0),
        ("wedged", 0),
        ("recover-after:1", 0),
        ("lose-request", 0),
        ("lose-reply", 1),
    ] {
        for serve in [serve_json as fn(&HttpMessage) -> Vec<u8>, serve_events] {
            let server = RawServer::start(serve).await;
            let proxy = Running::with(&server.url, &[fault]).await;
            let mut wire = proxy.connect().await;
            wire.write(&post("/mcp", &call("1", "echo"))).await;
            let heard = timeout(SILENCE, wire.read_head()).await;
            assert!(heard.is_err(), "{fault}: {heard:?}");
            // Others are not held up.
            let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
            assert_eq!(answer(&proxy.post(ping).await.unwrap())["id"], 2);
            assert_eq!(server.asked().len(), asked + 1, "{fault}");
        }
    }
}

#[tokio::test]
async fn a_crash_ends_the_proxy_with_status_1() {
    let server = RawServer::start(serve_json).await;
    let proxy = Running::with(&server.url, &["crash"]).await;
    assert_eq!(proxy.post(&call("1", "echo")).await, None);
    let ended = proxy.ended().await;
    assert_eq!((ended.status, ended.was_stopped), (1, false));
}

#[tokio::test]
async fn five_slow_calls_overlap() {
    let server = RawServer::start(serve_json).await;
    let proxy = Running::with(&server.url, &["slow:300"]).await;
    let started = Instant::now();
    let ids = ["1", "2", "3", "4", "5"];
    let calls = ids.map(|id| call(id, "echo"));
    let [one, two, three, four, five] = calls.each_ref().map(|call| proxy.post(call));
    let heard = tokio::join!(one, two, three, four, five);
    let elapsed = started.elapsed();
    assert_eq!(heard.4.unwrap().json()["id"], 5);
    assert!(elapsed >= Duration::from_millis(300), "{elapsed:?}");
    assert!(elapsed < Duration::from_millis(1_400), "{elapsed:?}");
}

#[tokio::test]
async fn vanished_tools_are_not_listed() {
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for serve in [serve_json as fn(&HttpMessage) -> Vec<u8>, serve_events] {
        let server = RawServer::start(serve).await;
        let proxy = Running::with(&server.url, &["vanish,tool=gone"]).await;
        let heard = proxy.post(list).await.unwrap();
        assert!(heard.is_whole, "{heard:?}");
        assert_eq!(answer(&heard)["result"]["tools"], json!([{"name": "here"}]));
    }
}

#[tokio::test]
async fn the_cancellation_of_a_held_call_goes_nowhere_and_ends_it() {
    let server = RawServer::start(serve_json).await;
    let proxy = Running::with(&server.url, &["hang,calls=1"]).await;
    let mut wire = proxy.connect().await;
    wire.write(&in_session(&call("1", "echo"), "s")).await;
    tokio::time::sleep(SILENCE).await;
    let heard = proxy
        .exchange(&in_session(&cancel("1"), "s"))
        .await
        .unwrap();
    assert_eq!(heard.status(), 202);
    let heard = timeout(DEADLINE, wire.read()).await.unwrap().unwrap();
    assert_eq!((heard.status(), heard.body.len()), (200, 0));
    assert_eq!(server.asked(), []);
    // Made again under the same id, it is a call like any other.
    assert_eq!(
        answer(
            &proxy
                .exchange(&in_session(&call("1", "echo"), "s"))
                .await
                .unwrap()
        )["id"],
        1
    );
    proxy
        .exchange(&in_session(&cancel("1"), "s"))
        .await
        .unwrap();
    assert_eq!(server.asked().len(), 2);
    let ended = proxy.stop().await;
    let calls = ended.summary.calls.unwrap();
    assert_eq!(calls.faulted_calls[0].next, NextStep::Retried);
    assert!(calls.faulted_calls[0].cancelled_after_ms.is_some());
}

#[tokio::test]
async fn a_client_that_leaves_a_held_call_has_given_it_up() {
    let server = RawServer::start(serve_json).await;
    let proxy = Running::with(&server.url, &["slow:300"]).await;
    let mut wire = proxy.connect().await;
    wire.write(&post("/mcp", &call("1", "echo"))).await;
    tokio::time::sleep(SILENCE).await;
    drop(wire);
    tokio::time::sleep(4 * SILENCE).await;
    assert_eq!(server.asked(), []);
    let ended = proxy.stop().await;
    let calls = ended.summary.calls.unwrap();
    assert_eq!(calls.faulted_calls[0].next, NextStep::Cancelled);
}

#[tokio::test]
async fn reply_after_cancel_executes_though_the_client_has_left() {
    let server = RawServer::start(serve_json).await;
    let proxy = Running::with(&server.url, &["reply-after-cancel:200"]).await;
    let mut wire = proxy.connect().await;
    wire.write(&in_session(&call("1", "echo"), "s")).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let heard = proxy
        .exchange(&in_session(&cancel("1"), "s"))
        .await
        .unwrap();
    assert_eq!(heard.status(), 202);
    let heard = timeout(DEADLINE, wire.read()).await.unwrap().unwrap();
    assert_eq!(answer(&heard)["id"], 1);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn what_is_no_answer_passes() {
    let refuse = |_: &HttpMessage| super::peers::respond("401 Unauthorized", "text/plain", "who?");
    let server = RawServer::start(refuse).await;
    let proxy = Running::with(&server.url, &["slow:10"]).await;
    let heard = proxy.post(&call("1", "echo")).await.unwrap();
    assert_eq!((heard.status(), heard.text()), (401, "who?".to_owned()));
}
