//! Calls that faults hold: nothing else waits, and what becomes of them is theirs alone.

use std::time::Duration;

use serde_json::json;

use super::rig::{PING, Rig, call, cancel};
use crate::summary;
use crate::summary::NextStep;

#[tokio::test]
async fn a_hung_call_holds_up_nothing_and_its_cancellation_goes_nowhere() {
    let mut rig = Rig::with(&["hang,tool=stuck"]);
    rig.client.say(&call("1", "stuck")).await;
    rig.client.say(PING).await;
    assert_eq!(rig.server.hear().await, PING);
    rig.client.say(&call("2", "other")).await;
    assert_eq!(rig.serve_one().await["id"], 2);
    assert_eq!(rig.client.hear_json().await["id"], 2);
    rig.client.say(&cancel("1")).await;
    rig.client.say(&cancel("2")).await;
    assert_eq!(rig.server.hear().await, cancel("2"));
    rig.client.hears_nothing().await;
    // Cancelled once more, it still means nothing to the server.
    rig.client.say(&cancel("1")).await;
    rig.server.hears_nothing().await;
    assert_eq!(rig.next_steps(), [NextStep::Cancelled]);
}

#[tokio::test]
async fn a_retry_under_the_same_id_is_a_call_of_its_own() {
    let mut rig = Rig::with(&["hang,calls=1"]);
    rig.client.say(&call("\"a\"", "stuck")).await;
    rig.client.say(&cancel("\"a\"")).await;
    rig.client.say(&call("\"a\"", "stuck")).await;
    assert_eq!(rig.serve_one().await["id"], "a");
    assert_eq!(rig.client.hear_json().await["id"], "a");
    // Now there is something to cancel.
    rig.client.say(&cancel("\"a\"")).await;
    assert_eq!(rig.server.hear().await, cancel("\"a\""));
    assert_eq!(rig.next_steps(), [NextStep::Retried]);
}

#[tokio::test]
async fn five_slow_calls_overlap() {
    let mut rig = Rig::with(&["slow:300"]);
    let started = std::time::Instant::now();
    for id in 0..5 {
        rig.client.say(&call(&id.to_string(), "echo")).await;
    }
    for _ in 0..5 {
        rig.serve_one().await;
    }
    let mut heard = Vec::new();
    for _ in 0..5 {
        heard.push(rig.client.hear_json().await["id"].as_u64().unwrap());
    }
    let elapsed = started.elapsed();
    heard.sort_unstable();
    assert_eq!(heard, [0, 1, 2, 3, 4]);
    assert!(elapsed >= Duration::from_millis(300), "{elapsed:?}");
    assert!(elapsed < Duration::from_millis(1_400), "{elapsed:?}");
}

#[tokio::test]
async fn requests_of_the_server_have_ids_of_their_own() {
    let mut rig = Rig::with(&["slow:50"]);
    rig.client.say(&call("1", "echo")).await;
    let request = rig.server.hear_json().await;
    assert_eq!(request["id"], 1);
    // The server asks under the same id, and the client answers.
    let asked = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#;
    rig.server.say(asked).await;
    assert_eq!(rig.client.hear().await, asked);
    let answered = r#"{"jsonrpc":"2.0","id":1,"result":{"role":"assistant"}}"#;
    rig.client.say(answered).await;
    assert_eq!(rig.server.hear().await, answered);
    rig.server
        .say(r#"{"jsonrpc":"2.0","id":1.0,"result":{"content":[]}}"#)
        .await;
    assert_eq!(rig.client.hear_json().await["result"]["content"], json!([]));
}

#[tokio::test]
async fn a_lost_reply_stays_lost_even_when_the_call_is_cancelled() {
    let mut rig = Rig::with(&["lose-reply,calls=1"]);
    rig.client.say(&call("1", "write")).await;
    let request = rig.server.hear_json().await;
    rig.client.say(&cancel("1")).await;
    assert_eq!(rig.server.hear().await, cancel("1"));
    let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}});
    rig.server.say(&reply.to_string()).await;
    rig.client.hears_nothing().await;
    // Made again, it is executed again, and answered.
    rig.client.say(&call("2", "write")).await;
    rig.serve_one().await;
    assert_eq!(rig.client.hear_json().await["id"], 2);
    let summary = summary::summarise(&rig.watch.seen());
    assert_eq!(summary.faulted_calls[0].next, NextStep::RepeatedLostWrite);
    assert_eq!(summary.faulted_calls[0].reached_server, Some(2));
}

#[tokio::test]
async fn a_lost_request_is_never_executed() {
    let mut rig = Rig::with(&["lose-request,calls=1"]);
    rig.client.say(&call("1", "write")).await;
    rig.server.hears_nothing().await;
    rig.client.say(&call("2", "write")).await;
    assert_eq!(rig.serve_one().await["id"], 2);
    let summary = summary::summarise(&rig.watch.seen());
    assert_eq!(summary.faulted_calls[0].reached_server, Some(1));
}

#[tokio::test]
async fn reply_after_cancel_answers_all_the_same_and_the_server_knows_nothing() {
    let mut rig = Rig::with(&["reply-after-cancel:100"]);
    rig.client.say(&call("1", "echo")).await;
    rig.client.say(&cancel("1")).await;
    let request = rig.serve_one().await;
    assert_eq!(request["method"], "tools/call");
    assert_eq!(rig.client.hear_json().await["id"], 1);
    rig.server.hears_nothing().await;
}
