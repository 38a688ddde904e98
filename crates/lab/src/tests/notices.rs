//! What is sent beside answers: progress, log messages, changes.

use mcprove_servers::hosting::listener::ListenerKind;
use serde_json::{Value, json};

use super::support::{
    Pipe, call, http, listen, modern, open, open_session, request, structured, wait_for,
};
use crate::LabOptions;

#[tokio::test]
async fn progress_is_told_to_whoever_asks() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    let params = json!({
        "name": "progress",
        "arguments": { "steps": 3, "step_ms": 1 },
        "_meta": { "progressToken": "t" },
    });
    pipe.send(&request(1, "tools/call", &params)).await;
    let messages = pipe.until_answer(1).await;
    let steps: Vec<_> = messages
        .iter()
        .filter(|message| message.get("id").is_none())
        .collect();
    assert_eq!(steps.len(), 3);
    assert_eq!(steps[2]["params"]["progress"], 3);
    assert_eq!(steps[2]["params"]["progressToken"], "t");
    assert_eq!(structured(&messages[3])["notifications"], 3);
    let reply = pipe
        .call("progress", &json!({ "steps": 3, "step_ms": 1 }))
        .await;
    assert_eq!(structured(&reply)["notifications"], 0);
}

#[tokio::test]
async fn log_messages_come_from_the_level_on_that_was_set() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    pipe.send(&call(1, "chatty", &json!({ "messages": 2 })))
        .await;
    assert_eq!(pipe.until_answer(1).await.len(), 3);
    let level = json!({ "level": "warning" });
    pipe.ask(&request(2, "logging/setLevel", &level)).await;
    let reply = pipe
        .call("chatty", &json!({ "messages": 2, "level": "notice" }))
        .await;
    assert_eq!(structured(&reply)["sent"], 0);
    pipe.send(&call(
        1,
        "chatty",
        &json!({ "messages": 2, "level": "alert" }),
    ))
    .await;
    let messages = pipe.until_answer(1).await;
    assert_eq!(messages[0]["params"]["level"], "alert");
    assert_eq!(messages.len(), 3);
    let level = json!({ "level": "loud" });
    let reply = pipe.ask(&request(2, "logging/setLevel", &level)).await;
    assert_eq!(reply["error"]["code"], -32_602);
}

#[tokio::test]
async fn in_the_stateless_era_every_request_asks_for_its_log_messages() {
    let mut pipe = Pipe::open(&LabOptions::default());
    let mut params = json!({ "name": "chatty", "arguments": { "messages": 2 } });
    let reply = pipe.ask(&modern(1, "tools/call", &params)).await;
    assert_eq!(structured(&reply)["sent"], 0);
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
    pipe.send(&modern(2, "tools/call", &params)).await;
    assert_eq!(pipe.until_answer(2).await.len(), 3);
}

fn announce(what: &str) -> Value {
    call(
        9,
        "announce",
        &json!({ "what": what, "uri": "lab://numbers/3" }),
    )
}

#[tokio::test]
async fn changes_are_told_over_stdio() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    pipe.send(&announce("tools")).await;
    let told = [pipe.next().await, pipe.next().await];
    let methods = told.iter().filter_map(|message| message["method"].as_str());
    assert_eq!(
        methods.collect::<Vec<_>>(),
        ["notifications/tools/list_changed"]
    );
    // Nobody subscribed to the resource yet.
    pipe.ask(&announce("resource")).await;
    assert!(pipe.is_quiet().await);
    let uri = json!({ "uri": "lab://numbers/3" });
    pipe.ask(&request(2, "resources/subscribe", &uri)).await;
    pipe.send(&announce("resource")).await;
    let told = [pipe.next().await, pipe.next().await];
    let updated = told
        .iter()
        .find(|message| message.get("method").is_some())
        .unwrap();
    assert_eq!(updated["params"]["uri"], "lab://numbers/3");
    pipe.ask(&request(3, "resources/unsubscribe", &uri)).await;
    pipe.ask(&announce("resource")).await;
    assert!(pipe.is_quiet().await);
    let unknown = json!({ "uri": "lab://nowhere" });
    let reply = pipe.ask(&request(4, "resources/subscribe", &unknown)).await;
    assert_eq!(reply["error"]["code"], -32_002);
}

#[tokio::test]
async fn changes_are_told_on_the_newest_get_stream() {
    let server = listen(&LabOptions::default(), ListenerKind::Http).await;
    let session = open_session(&server, &[]).await;
    let named = [("Mcp-Session-Id", session.as_str())];
    let mut old = open(&server, "GET", &named, "").await;
    wait_for(&mut old, ": open").await;
    let mut new = open(&server, "GET", &named, "").await;
    wait_for(&mut new, ": open").await;
    http(&server, "POST", &named, &announce("prompts").to_string()).await;
    wait_for(&mut new, "notifications/prompts/list_changed").await;
    assert_eq!(http(&server, "DELETE", &named, "").await.status, 200);
    let rest = wait_for(&mut old, "0\r\n\r\n").await;
    assert!(!rest.contains("list_changed"), "{rest}");
}

#[tokio::test]
async fn a_subscription_tells_what_was_asked_for_and_nothing_else() {
    let mut pipe = Pipe::open(&LabOptions::default());
    let wanted = json!({ "toolsListChanged": true, "resourceSubscriptions": ["lab://numbers/3"] });
    let listen = modern(
        1,
        "subscriptions/listen",
        &json!({ "notifications": wanted }),
    );
    let acknowledged = pipe.ask(&listen).await;
    assert_eq!(acknowledged["params"]["notifications"], wanted);
    for what in ["prompts", "tools", "resources", "resource"] {
        let arguments = json!({ "what": what, "uri": "lab://numbers/3" });
        let params = json!({ "name": "announce", "arguments": arguments });
        pipe.send(&modern(9, "tools/call", &params)).await;
    }
    let mut told = Vec::new();
    for _ in 0..6 {
        let message = pipe.next().await;
        if let Some(method) = message["method"].as_str() {
            let id = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
            assert_eq!(id, 1);
            told.push(method.to_owned());
        }
    }
    assert_eq!(
        told,
        [
            "notifications/tools/list_changed",
            "notifications/resources/updated"
        ]
    );
    assert!(pipe.is_quiet().await);
}
