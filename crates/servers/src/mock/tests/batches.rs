//! Every kind of fault in a batch of the revision that has them.

use mcprove_fault::kinds;
use serde_json::{Value, json};

use super::{call, found, listening, mock, search};
use crate::fixture::tests::{HttpReply, Pipe, http, initialize, open, ping, within};
use crate::mock::{ListenerKind, Listening, Mock};

const REVISION: &str = "2025-03-26";

/// A call that is struck, and one that is not.
fn batch() -> Value {
    let echo = call(2, "echo", json!({}));
    json!([search(1, "x"), echo])
}

async fn ready(mock: &Mock) -> Pipe {
    let (output, input) = mock.spawn_in_memory();
    let mut pipe = Pipe::over(output, input);
    pipe.ask(&initialize(0, REVISION)).await;
    pipe
}

async fn session(server: &Listening) -> String {
    let body = initialize(0, REVISION).to_string();
    let greeting = http(server, "POST", "/mcp", &[], &body).await;
    greeting.header("mcp-session-id").unwrap().to_owned()
}

async fn post(fault: &str) -> HttpReply {
    let server = listening(&mock(&[fault]), ListenerKind::Http).await;
    let session = session(&server).await;
    let headers = [("Mcp-Session-Id", session.as_str())];
    http(&server, "POST", "/mcp", &headers, &batch().to_string()).await
}

/// The answers of a batch, by their ids.
fn by_id(array: &Value) -> Vec<(Value, Value)> {
    let answers = array.as_array().unwrap().iter();
    let mut answers: Vec<(Value, Value)> = answers
        .map(|answer| (answer["id"].clone(), answer.clone()))
        .collect();
    answers.sort_by_key(|(id, _)| id.as_u64());
    answers
}

#[tokio::test]
async fn a_batch_with_too_much_to_answer_has_one_error() {
    let mut pipe = ready(&mock(&["oversized:20000000"])).await;
    let calls: Vec<Value> = (1..=8).map(|id| search(id, "x")).collect();
    let answer = pipe.ask(&Value::from(calls)).await;
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
    assert_eq!(answer["id"], Value::Null);
    let few: Vec<Value> = (1..=2).map(|id| search(id, "x")).collect();
    let answer = pipe.ask(&Value::from(few)).await;
    assert_eq!(answer.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_batch_is_answered_whole_around_a_struck_call() {
    for (fault, pointer, expected) in [
        ("none", "/result/content/0/text", json!("found x")),
        ("error:-5", "/error/code", json!(-5)),
        ("flaky:1", "/error/code", json!(-32000)),
        ("tool-error", "/result/isError", json!(true)),
        ("corrupt", "/result/content/0/text", json!("x dnuof")),
        ("empty", "/result/content", json!([])),
        ("vanish", "/error/code", json!(-32602)),
        ("slow:1", "/result/content/0/text", json!("found x")),
        ("jitter:0-2", "/result/content/0/text", json!("found x")),
        ("reorder:1", "/result/content/0/text", json!("found x")),
        ("reply-after-cancel:1", "/result/isError", json!(false)),
        ("oversized:2000", "/result/isError", json!(false)),
        ("http-status:429", "/error/data/status", json!(429)),
    ] {
        let mut pipe = ready(&mock(&[&format!("{fault},tool=search")])).await;
        let answers = by_id(&pipe.ask(&batch()).await);
        assert_eq!(answers[0].1.pointer(pointer), Some(&expected), "{fault}");
        assert_eq!(answers[1].0, 2, "{fault}");
        assert_eq!(pipe.ask(&ping(3)).await["id"], 3, "{fault}");
    }
    let mut pipe = ready(&mock(&["wrong-id,tool=search"])).await;
    let answers = by_id(&pipe.ask(&batch()).await);
    assert_eq!(answers[0].0, 2);
    assert_eq!(answers[1].0, 1_000_000_001);
}

#[tokio::test]
async fn what_is_no_answer_goes_out_beside_the_array() {
    let mut pipe = ready(&mock(&["noise,tool=search"])).await;
    pipe.send(&batch()).await;
    assert!(pipe.line().await.unwrap().starts_with(b"DEBUG"));
    pipe.line().await;
    assert_eq!(by_id(&pipe.next().await)[0].1, found(1, "x"));
    let mut pipe = ready(&mock(&["duplicate,tool=search"])).await;
    pipe.send(&batch()).await;
    assert_eq!(pipe.next().await, found(1, "x"));
    assert_eq!(by_id(&pipe.next().await)[0].1, found(1, "x"));
    let mut pipe = ready(&mock(&["progress-forever:1"])).await;
    let mut message = search(1, "x");
    message["params"]["_meta"] = json!({ "progressToken": "t" });
    pipe.send(&json!([message])).await;
    assert_eq!(pipe.next().await["params"]["progressToken"], "t");
}

#[tokio::test]
async fn a_broken_answer_breaks_the_array() {
    for fault in ["malformed", "truncated"] {
        let mut pipe = ready(&mock(&[&format!("{fault},tool=search")])).await;
        pipe.send(&batch()).await;
        let line = pipe.line().await.unwrap();
        assert_eq!(line.first(), Some(&b'['), "{fault}");
        assert!(serde_json::from_slice::<Value>(&line).is_err(), "{fault}");
        assert_eq!(pipe.ask(&ping(3)).await["id"], 3, "{fault}");
    }
}

#[tokio::test]
async fn the_end_of_the_connection_ends_a_batch() {
    for fault in ["disconnect", "crash"] {
        // Also where another call of the batch never ends.
        let faults = [&format!("{fault},tool=search") as &str, "hang,tool=echo"];
        let mut pipe = ready(&mock(&faults)).await;
        pipe.send(&batch()).await;
        assert_eq!(pipe.rest().await, b"", "{fault}");
    }
    let server = listening(&mock(&["disconnect"]), ListenerKind::Http).await;
    let session = session(&server).await;
    let headers = [("Mcp-Session-Id", session.as_str())];
    let body = batch().to_string();
    let mut stream = open(&server, "POST", "/mcp", &headers, &body).await;
    let mut bytes = Vec::new();
    let read = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut bytes);
    // Whether it is reset or closed is the system's choice.
    let _ = within(read).await;
    assert_eq!(bytes, b"");
}

#[tokio::test]
async fn silence_holds_the_batch_and_nothing_else() {
    for fault in [
        "hang",
        "wedged",
        "recover-after:1",
        "lose-request",
        "lose-reply",
    ] {
        let mut pipe = ready(&mock(&[&format!("{fault},tool=search")])).await;
        pipe.send(&batch()).await;
        assert!(pipe.is_quiet().await, "{fault}");
        assert_eq!(pipe.ask(&ping(3)).await["id"], 3, "{fault}");
    }
}

#[tokio::test]
async fn over_http_a_status_stands_for_the_whole_batch() {
    let refused = post("http-status:429,tool=echo").await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    let noisy = post("error:1,tool=search").await;
    assert_eq!((noisy.status, by_id(&noisy.json()).len()), (200, 2));
}

/// So that a new kind of fault is tried here too.
#[test]
fn every_kind_is_tried_above() {
    let this = include_str!("batches.rs");
    for kind in kinds() {
        let name = kind.name().replace('_', "-");
        assert!(this.contains(&format!("\"{name}")), "{name}");
    }
}
