//! What each kind of fault does over stdio.

use serde_json::{Value, json};
use tokio::time::timeout;

use super::rig::{DEADLINE, Rig, call};
use crate::stdio::End;

#[tokio::test]
async fn vanished_tools_are_not_listed_and_unknown() {
    let mut rig = Rig::with(&["vanish,tool=gone"]);
    let list = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
    rig.client.say(list).await;
    assert_eq!(rig.server.hear().await, list);
    rig.server
        .say(r#"{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"gone"},{"name":"here"}]}}"#)
        .await;
    let listed = rig.client.hear_json().await;
    assert_eq!(listed["result"]["tools"], json!([{"name": "here"}]));
    rig.client.say(&call("6", "gone")).await;
    assert_eq!(rig.client.hear_json().await["error"]["code"], -32602);
    rig.server.hears_nothing().await;
}

#[tokio::test]
async fn what_the_other_kinds_do() {
    // Kinds that do not reach the server.
    for (fault, key, expected) in [
        ("error:-32050", "error", json!(-32050)),
        ("flaky:1.0", "error", json!(-32000)),
        ("http-status:429", "error", json!(-32000)),
    ] {
        let mut rig = Rig::with(&[fault]);
        rig.client.say(&call("\"x\"", "echo")).await;
        let reply = rig.client.hear_json().await;
        assert_eq!(
            (&reply["id"], &reply[key]["code"]),
            (&json!("x"), &expected)
        );
        rig.server.hears_nothing().await;
    }
    let mut rig = Rig::with(&["tool-error"]);
    rig.client.say(&call("1", "echo")).await;
    assert_eq!(rig.client.hear_json().await["result"]["isError"], true);
    for kind in ["hang", "wedged", "recover-after:1", "lose-request"] {
        let mut rig = Rig::with(&[kind]);
        rig.client.say(&call("1", "echo")).await;
        rig.client.hears_nothing().await;
        rig.server.hears_nothing().await;
    }
    let mut rig = Rig::with(&["progress-forever"]);
    rig.client.say(&call("1", "echo")).await;
    for _ in 0..2 {
        let told = rig.client.hear_json().await;
        assert_eq!(told["params"]["progressToken"], "p");
    }
}

#[tokio::test]
async fn what_the_kinds_do_that_let_the_server_answer() {
    let fine = r#"{"content":[{"text":"fine","type":"text"}]}"#;
    for fault in ["slow:10", "jitter:1-20", "reorder", "reply-after-cancel:1"] {
        let mut rig = Rig::with(&[fault]);
        rig.client.say(&call("1", "echo")).await;
        rig.serve_one().await;
        assert_eq!(
            rig.client.hear_json().await["result"].to_string(),
            fine,
            "{fault}"
        );
    }
    let heard = |fault: &'static str| async move {
        let mut rig = Rig::with(&[fault]);
        rig.client.say(&call("1", "echo")).await;
        rig.serve_one().await;
        rig
    };
    let line = heard("malformed").await.client.hear().await;
    assert!(line.starts_with("}{"), "{line}");
    let line = heard("truncated").await.client.hear().await;
    assert!(line.starts_with('{') && serde_json::from_str::<Value>(&line).is_err());
    let reply = heard("corrupt").await.client.hear_json().await;
    assert_ne!(reply["result"].to_string(), fine);
    let reply = heard("empty").await.client.hear_json().await;
    assert_eq!(reply["result"]["content"], json!([]));
    let reply = heard("oversized:300000").await.client.hear().await;
    assert!(reply.len() > 300_000);
    let reply = heard("wrong-id").await.client.hear_json().await;
    assert_ne!(reply["id"], 1);
    let mut rig = heard("duplicate").await;
    assert_eq!(rig.client.hear().await, rig.client.hear().await);
    let mut rig = heard("noise").await;
    assert!(rig.client.hear().await.contains("noise"));
    rig.client.hear().await;
    assert_eq!(rig.client.hear_json().await["id"], 1);
    let mut rig = heard("lose-reply").await;
    rig.client.hears_nothing().await;
}

#[tokio::test]
async fn disconnect_and_crash_end_it_all() {
    for (fault, end) in [("disconnect", End::Disconnected), ("crash", End::Crashed)] {
        let mut rig = Rig::with(&[fault]);
        rig.client.say(&call("1", "echo")).await;
        assert_eq!(timeout(DEADLINE, rig.relay).await.unwrap().unwrap(), end);
        assert_eq!(rig.client.hear().await, "", "{fault}");
        assert_eq!(rig.server.hear().await, "", "{fault}");
    }
}
