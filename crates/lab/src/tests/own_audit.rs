//! `lab://audit`: the audit that is in memory, for those who can only ask.

use std::sync::Arc;

use mcprove_servers::hosting::listener::ListenerKind;
use serde_json::{Value, json};

use super::support::{
    Pipe, audited, call, http, listen, modern, open_session, request, rows, within,
};
use crate::audit::{AuditRow, AuditStore};
use crate::{ApiKeys, LabOptions};

const URI: &str = "lab://audit";

fn read(id: u64) -> Value {
    request(id, "resources/read", &json!({ "uri": URI }))
}

/// The rows that an answer holds.
fn shown(reply: &Value) -> Vec<Value> {
    let contents = &reply["result"]["contents"][0];
    assert_eq!(contents["uri"], URI, "{reply}");
    assert_eq!(contents["mimeType"], "application/json");
    let list: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
    assert_eq!(list["schema"], "audit.v1");
    list["rows"].as_array().unwrap().clone()
}

fn is_listed(reply: &Value) -> bool {
    let listed = reply["result"]["resources"].as_array().unwrap();
    listed.iter().any(|resource| resource["uri"] == URI)
}

#[tokio::test]
async fn the_latest_rows_are_read_newest_first() {
    let (options, store) = audited();
    let mut pipe = Pipe::ready(&options).await;
    pipe.call("error", &json!({ "category": "auth" })).await;
    rows(&store, 2).await;
    let found = shown(&pipe.ask(&read(2)).await);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["tool_name"], "error");
    assert_eq!(found[0]["error_category"], "auth");
    assert_eq!(found[1]["method"], "initialize");
    // The audit is not told within the audit, by whatever it was read.
    pipe.call("resource", &json!({ "uri": URI })).await;
    let arguments = json!({ "uri": URI });
    let prompt = json!({ "name": "reading", "arguments": arguments });
    pipe.ask(&request(4, "prompts/get", &prompt)).await;
    rows(&store, 5).await;
    let found = shown(&pipe.ask(&read(5)).await);
    assert_eq!(found.len(), 5);
    for row in &found[..3] {
        assert_eq!(row["response"], Value::Null, "{row}");
        assert_eq!(row["response_cut"], true, "{row}");
    }
    assert!(found[3]["response"].is_object(), "{found:?}");
    let list = pipe.ask(&request(6, "resources/list", &json!({}))).await;
    assert!(is_listed(&list));
    let subscribe = request(7, "resources/subscribe", &json!({ "uri": URI }));
    assert_eq!(pipe.ask(&subscribe).await["result"], json!({}));
}

#[tokio::test]
async fn nobody_keeps_it_for_later() {
    let (options, _store) = audited();
    let mut pipe = Pipe::open(&options);
    let reply = pipe
        .ask(&modern(1, "resources/read", &json!({ "uri": URI })))
        .await;
    assert_eq!(reply["result"]["ttlMs"], 0);
    assert_eq!(reply["result"]["cacheScope"], "private");
}

#[tokio::test]
async fn it_is_there_only_where_there_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = AuditStore::open(folder.path().join("lab.db")).unwrap();
    let filed = LabOptions {
        audit: Some(Arc::new(store)),
        ..LabOptions::default()
    };
    for options in [filed, LabOptions::default()] {
        let mut pipe = Pipe::ready(&options).await;
        let list = pipe.ask(&request(1, "resources/list", &json!({}))).await;
        assert!(!is_listed(&list));
        assert_eq!(pipe.ask(&read(2)).await["error"]["code"], -32_002);
    }
}

#[tokio::test]
async fn it_is_bounded_in_rows_and_bytes() {
    let (options, store) = audited();
    let mut pipe = Pipe::ready(&options).await;
    let fill = |count: usize, chars: usize| {
        for _ in 0..count {
            store.record(AuditRow {
                method: "ping".into(),
                parameters: Some("x".repeat(chars)),
                ..AuditRow::default()
            });
        }
    };
    fill(150, 10);
    assert_eq!(shown(&pipe.ask(&read(1)).await).len(), 100);
    fill(90, 60_000);
    let reply = within(pipe.ask(&read(2))).await;
    let count = shown(&reply).len();
    assert!((10..20).contains(&count), "{count} rows");
    assert!(reply.to_string().len() < 2 << 20);
}

#[tokio::test]
async fn with_keys_everybody_sees_their_own_rows() {
    let (options, store) = audited();
    let mut api_keys = ApiKeys::default();
    api_keys.add("ada=first-key").unwrap();
    api_keys.add("grace=second-key").unwrap();
    let options = LabOptions {
        api_keys,
        ..options
    };
    let server = listen(&options, ListenerKind::Http).await;
    let keys = ["first-key", "second-key"];
    for key in keys {
        let session = open_session(&server, &[("X-Api-Key", key)]).await;
        let named = [("X-Api-Key", key), ("Mcp-Session-Id", session.as_str())];
        let message = call(1, "echo", &json!({ "message": format!("of {key}") })).to_string();
        http(&server, "POST", &named, &message).await;
    }
    rows(&store, 4).await;
    for (key, user) in keys.into_iter().zip(["ada", "grace"]) {
        let session = open_session(&server, &[("X-Api-Key", key)]).await;
        let named = [("X-Api-Key", key), ("Mcp-Session-Id", session.as_str())];
        let reply = http(&server, "POST", &named, &read(2).to_string())
            .await
            .json();
        let found = shown(&reply);
        assert!(found.iter().all(|row| row["user"] == user), "{found:?}");
        let echoed = found.iter().find(|row| row["tool_name"] == "echo").unwrap();
        assert_eq!(echoed["parameters"]["message"], format!("of {key}"));
    }
}
