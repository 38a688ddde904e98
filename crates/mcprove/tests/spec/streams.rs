//! What a server says on its own: requests to the client and changes of its lists.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcprove_client::session::{ProtocolChoice, Session, SessionOptions};
use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::http_rules::open;
use crate::http_server::HttpServer;
use crate::peer::{self, PATIENCE, connect, connect_at, eventually, options};

const HANDSHAKE: ProtocolChoice = ProtocolChoice::Revision(Revision::V2025_11_25);
const STATELESS: ProtocolChoice = ProtocolChoice::Revision(Revision::V2026_07_28);

fn changes() -> [Value; 4] {
    ["tools", "prompts", "resources", "tools"].map(
        |list| json!({ "jsonrpc": "2.0", "method": format!("notifications/{list}/list_changed") }),
    )
}

/// The notifications that were heard, by their methods.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn options(&self, protocol: ProtocolChoice) -> SessionOptions {
        let Self(heard) = self.clone();
        let told = move |method: &str, _: &str| heard.lock().unwrap().push(method.to_owned());
        options(protocol).with_notifications(told)
    }
}

async fn hears_changes(session: &Session, heard: &Heard) {
    let expected = changes().map(|change| change["method"].as_str().unwrap().to_owned());
    eventually("the changes", || {
        let mut heard = heard.0.lock().unwrap().clone();
        heard.retain(|method| method.ends_with("list_changed"));
        Some(()).filter(|()| heard == expected)
    })
    .await;
    assert!(
        session.violations().is_empty(),
        "{:?}",
        session.violations()
    );
}

/// A server that asks `roots/list` while a call is pending, on the GET stream or on that of the
/// call, and answers the call when it has its own answer.
async fn asking(on_get_stream: bool) -> HttpServer {
    let (called, replied) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let question = json!({ "jsonrpc": "2.0", "id": "q", "method": "roots/list" });
    HttpServer::start(move |request, conversation| {
        let (called, replied) = (Arc::clone(&called), Arc::clone(&replied));
        let question = question.clone();
        async move {
            if request.method == "GET" && on_get_stream {
                let mut stream = conversation;
                stream.open_events().await;
                called.notified().await;
                stream.event(&question).await;
                stream.wait_for_hangup().await;
                return;
            }
            let Some(mut conversation) = open(&request, conversation, "s").await else {
                return;
            };
            if request.rpc() == "tools/call" {
                conversation.open_events().await;
                if on_get_stream {
                    called.notify_one();
                } else {
                    conversation.event(&question).await;
                }
                replied.notified().await;
                conversation
                    .event(&request.answer(&json!({ "content": [] })))
                    .await;
            } else {
                assert_eq!(request.body["id"], "q");
                assert_eq!(request.body["result"], json!({ "roots": [] }));
                assert_eq!(request.header("mcp-session-id"), Some("s"));
                conversation.accept().await;
                replied.notify_one();
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_question_is_answered_while_a_call_is_pending() {
    for on_get_stream in [true, false] {
        let server = asking(on_get_stream).await;
        let session = server.connect(options(HANDSHAKE)).await.unwrap();
        let call = session.call_tool_within("x", &json!({}), PATIENCE).await;
        assert!(call.is_ok(), "GET stream {on_get_stream}: {call:?}");
        assert!(
            session.violations().is_empty(),
            "{:?}",
            session.violations()
        );
    }
}

#[tokio::test]
async fn the_answer_to_a_question_of_a_task_names_the_task() {
    let related = json!({ "io.modelcontextprotocol/related-task": { "taskId": "t" } });
    let mut call = None;
    let params = json!({ "_meta": related.clone() });
    let (session, recorded) = connect_at(Revision::V2025_11_25, move |message, wire| {
        if message["method"] == "tools/call" {
            call = Some(message.clone());
            wire.send(&json!({
                "jsonrpc": "2.0", "id": "q", "method": "roots/list", "params": params,
            }));
        } else if message["id"] == "q" {
            wire.answer(call.as_ref().unwrap(), &json!({ "content": [] }));
        }
    })
    .await;
    session.call_tool("x", &json!({})).await.unwrap();
    let messages = recorded.all();
    let answer = messages
        .iter()
        .find(|message| message["id"] == "q")
        .unwrap();
    assert_eq!(answer["result"], json!({ "roots": [], "_meta": related }));
}

#[tokio::test]
async fn changes_are_heard_on_lines() {
    for revision in [Revision::V2024_11_05, Revision::V2025_11_25] {
        let heard = Heard::default();
        let options = heard.options(ProtocolChoice::Revision(revision));
        let (session, _) = connect(options, |message, wire| {
            if peer::open(message, wire) {
                return;
            }
            for change in changes() {
                wire.send(&change);
            }
            wire.answer(message, &json!({}));
        })
        .await;
        session.check_alive(PATIENCE).await.unwrap();
        hears_changes(&session, &heard).await;
    }
}

#[tokio::test]
async fn changes_are_heard_on_the_get_stream() {
    let server = HttpServer::start(|request, mut conversation| async move {
        if request.method == "GET" {
            conversation.open_events().await;
            for change in changes() {
                conversation.event(&change).await;
            }
            conversation.wait_for_hangup().await;
        } else {
            open(&request, conversation, "s").await;
        }
    })
    .await;
    let heard = Heard::default();
    let options = heard.options(HANDSHAKE);
    let session = server.connect(options).await.unwrap();
    hears_changes(&session, &heard).await;
    session.close().await;
    server.wait_for_hangups(1).await;
}

/// What a server says to a subscription, its acknowledgement first.
fn subscription(id: &Value) -> Vec<Value> {
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
    let mut messages = vec![json!({
        "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
        "params": { "_meta": meta, "notifications": { "toolsListChanged": true } },
    })];
    for mut change in changes() {
        change["params"] = json!({ "_meta": meta });
        messages.push(change);
    }
    messages
}

#[tokio::test]
async fn changes_are_heard_on_a_subscription() {
    let filter = json!({ "toolsListChanged": true });
    let heard = Heard::default();
    let (session, recorded) = connect(heard.options(STATELESS), |message, wire| {
        if !peer::open(message, wire) && message["method"] == "subscriptions/listen" {
            for said in subscription(&message["id"]) {
                wire.send(&said);
            }
        }
    })
    .await;
    let call = session.subscribe(&filter).unwrap();
    hears_changes(&session, &heard).await;
    let sent = recorded.of("subscriptions/listen");
    assert_eq!(sent[0]["params"]["notifications"], filter);
    drop(call);
    recorded.wait_for("notifications/cancelled", 1).await;

    let server = HttpServer::start(|request, conversation| async move {
        if let Some(mut conversation) = open(&request, conversation, "s").await {
            conversation.open_events().await;
            for said in subscription(&request.body["id"]) {
                conversation.event(&said).await;
            }
            conversation.wait_for_hangup().await;
        }
    })
    .await;
    let heard = Heard::default();
    let options = heard.options(STATELESS);
    let session = server.connect(options).await.unwrap();
    let call = session.subscribe(&filter).unwrap();
    hears_changes(&session, &heard).await;
    drop(call);
    server.wait_for_hangups(1).await;
    assert_eq!(server.count("notifications/cancelled"), 0);
}

#[tokio::test]
async fn a_subscription_that_the_server_ends_is_answered() {
    let (session, _) = connect_at(Revision::V2026_07_28, |message, wire| {
        let (wire, message) = (wire.clone(), message.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": message["id"] });
            wire.answer(
                &message,
                &json!({ "resultType": "complete", "_meta": meta }),
            );
        });
    })
    .await;
    let call = session.subscribe(&json!({})).unwrap();
    let ended = tokio::time::timeout(PATIENCE, call).await.unwrap();
    assert!(ended.is_ok(), "{ended:?}");
}
