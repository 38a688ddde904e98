//! What the client sends is valid by the schema of the revision that is spoken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mcprove_client::session::{Accept, Decline, ProtocolChoice, Request, Responder, Session};
use mcprove_trace::protocol::{Era, Revision};
use serde_json::{Value, json};

use crate::asking_server::AskingServer;
use crate::peer::{PATIENCE, Recorded, connect, options};
use crate::schema::Schema;

const SOON: Duration = Duration::from_millis(150);
const TASK_PATIENCE: Duration = Duration::from_millis(400);

fn definition_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "server/discover" => "DiscoverRequest",
        "initialize" => "InitializeRequest",
        "ping" => "PingRequest",
        "tools/list" => "ListToolsRequest",
        "tools/call" => "CallToolRequest",
        "prompts/list" => "ListPromptsRequest",
        "prompts/get" => "GetPromptRequest",
        "resources/list" => "ListResourcesRequest",
        "resources/templates/list" => "ListResourceTemplatesRequest",
        "resources/read" => "ReadResourceRequest",
        "resources/subscribe" => "SubscribeRequest",
        "completion/complete" => "CompleteRequest",
        "logging/setLevel" => "SetLevelRequest",
        "subscriptions/listen" => "SubscriptionsListenRequest",
        "tasks/get" => "GetTaskRequest",
        "tasks/result" => "GetTaskPayloadRequest",
        "tasks/cancel" => "CancelTaskRequest",
        "notifications/initialized" => "InitializedNotification",
        "notifications/cancelled" => "CancelledNotification",
        "notifications/roots/list_changed" => "RootsListChangedNotification",
        _ => return None,
    })
}

/// The definition of the result that answers a request of the server.
fn answer_of(method: &str) -> &'static str {
    match method {
        "roots/list" => "ListRootsResult",
        "sampling/createMessage" => "CreateMessageResult",
        "elicitation/create" => "ElicitResult",
        "ping" => "EmptyResult",
        other => panic!("no answer to {other} is expected"),
    }
}

/// Sends everything that a session can send.
async fn send_everything(session: &Session, recorded: &Recorded) {
    let is_stateless = session.era() == Era::Stateless;
    session.check_alive(PATIENCE).await.unwrap();
    session.list_tools().await.unwrap();
    session.list_prompts().await.unwrap();
    session.list_resources().await.unwrap();
    let templates = "resourceTemplates";
    session
        .list("resources/templates/list", templates)
        .await
        .unwrap();
    session.call_tool("plain", &json!({})).await.unwrap();
    session
        .call_tool("plain", &json!({ "text": "é\n\"" }))
        .await
        .unwrap();
    let with_progress = Request::tool("plain", &json!({})).on_progress(Arc::new(|_: &Value| {}));
    session.request(&with_progress).await.unwrap();

    let prompt = json!({ "name": "p", "arguments": { "a": "b" } });
    let resource = json!({ "uri": "file:///a" });
    let completion = json!({
        "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "b" },
    });
    let mut requests = vec![
        ("prompts/get", prompt),
        ("resources/read", resource.clone()),
        ("completion/complete", completion),
    ];
    if !is_stateless {
        requests.push(("logging/setLevel", json!({ "level": "info" })));
        requests.push(("resources/subscribe", resource));
        session.notify("notifications/roots/list_changed", None);
    }
    for (method, params) in requests {
        let request = Request::new(method).params(&params);
        session.request(&request).await.unwrap();
    }

    let error = session.call_tool_within("hang", &json!({}), SOON).await;
    assert!(error.is_err());
    let dropped = session.start(&Request::tool("hang", &json!({}))).unwrap();
    drop(dropped);
    recorded.wait_for("notifications/cancelled", 2).await;
    if is_stateless {
        let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["file:///a"] });
        drop(session.subscribe(&filter).unwrap());
        recorded.wait_for("notifications/cancelled", 3).await;
        session
            .call_tool("ask_without_sampling", &json!({ "a": 1 }))
            .await
            .unwrap();
        // A call whose questions are declined ends; accepted, it goes on.
        let _ = session.call_tool("ask", &json!({})).await;
    } else {
        session.call_tool("ask", &json!({})).await.unwrap();
    }
    if session.facts().revision >= Revision::V2025_11_25 {
        session.call_tool("work", &json!({})).await.unwrap();
        let stuck = session
            .call_tool_within("stuck", &json!({}), TASK_PATIENCE)
            .await;
        assert!(stuck.is_err());
        recorded.wait_for("tasks/cancel", 1).await;
    }
}

async fn record(revision: Revision, responder: Arc<dyn Responder>) -> Vec<Value> {
    let mut server = AskingServer::new(revision);
    let mut options = options(ProtocolChoice::Revision(revision));
    options.responder = responder;
    let (session, recorded) =
        connect(options, move |message, wire| server.receive(message, wire)).await;
    send_everything(&session, &recorded).await;
    assert!(
        session.violations().is_empty(),
        "{:?}",
        session.violations()
    );
    session.close().await;
    recorded.all()
}

/// Checks one message; returns what it was.
fn check(schema: &Schema, revision: Revision, message: &Value) -> String {
    schema.assert_valid("JSONRPCMessage", message);
    let Some(method) = message["method"].as_str() else {
        return check_answer(schema, message);
    };
    let definition = definition_of(method).filter(|definition| schema.has(definition));
    if let Some(definition) = definition {
        schema.assert_valid(definition, message);
        let mut other = message.clone();
        other["method"] = "other/method".into();
        schema.assert_invalid(definition, &other);
        schema.assert_invalid(definition, &json!({}));
    } else {
        // The extension for tasks is not part of the schema; its requests are requests.
        assert!(
            method.starts_with("tasks/"),
            "{method} is not in the schema"
        );
        schema.assert_valid("RequestParams", &message["params"]);
        assert!(message["params"]["taskId"].is_string());
        if let Some(responses) = message["params"].get("inputResponses") {
            schema.assert_valid("InputResponses", responses);
        }
    }
    let is_request = !message["id"].is_null();
    if is_request {
        schema.assert_valid("JSONRPCRequest", message);
    }
    if is_request && revision.era() == Era::Stateless {
        let mut bare = message.clone();
        bare["params"].as_object_mut().unwrap().remove("_meta");
        schema.assert_invalid("RequestParams", &bare["params"]);
        if let Some(definition) = definition {
            schema.assert_invalid(definition, &bare);
        }
    }
    method.to_owned()
}

fn check_answer(schema: &Schema, message: &Value) -> String {
    let id = message["id"].as_str().unwrap();
    let (method, _) = id.split_once(' ').unwrap();
    if let Some(result) = message.get("result") {
        schema.assert_valid(answer_of(method), result);
        schema.assert_invalid(answer_of(method), &json!(5));
        return format!("result {id}");
    }
    let definition = ["JSONRPCErrorResponse", "JSONRPCError"]
        .into_iter()
        .find(|definition| schema.has(definition))
        .unwrap();
    schema.assert_valid(definition, message);
    schema.assert_invalid(
        definition,
        &json!({ "jsonrpc": "2.0", "id": id, "error": {} }),
    );
    format!("error {id}")
}

fn expected(revision: Revision, accepts: bool) -> BTreeSet<String> {
    let mut expected: Vec<&str> = vec![
        "tools/list",
        "tools/call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
        "notifications/cancelled",
    ];
    if revision.era() == Era::Stateless {
        expected.extend(["server/discover", "subscriptions/listen", "tasks/update"]);
    } else {
        expected.extend([
            "initialize",
            "notifications/initialized",
            "notifications/roots/list_changed",
            "ping",
            "logging/setLevel",
            "resources/subscribe",
            "result roots/list roots",
            "result ping ping",
            "error nothing/such unknown",
        ]);
        expected.push(if accepts {
            "result sampling/createMessage sampling"
        } else {
            "error sampling/createMessage sampling"
        });
        if revision >= Revision::V2025_06_18 {
            expected.push("result elicitation/create form");
        }
    }
    if revision >= Revision::V2025_11_25 {
        expected.extend(["tasks/get", "tasks/cancel"]);
    }
    if revision == Revision::V2025_11_25 {
        expected.extend(["tasks/result", "result elicitation/create url"]);
    }
    expected.into_iter().map(str::to_owned).collect()
}

async fn everything_is_valid(revision: Revision) {
    let schema = Schema::load(revision.as_str());
    let responders: [(bool, Arc<dyn Responder>); 2] =
        [(true, Arc::new(Accept)), (false, Arc::new(Decline))];
    for (accepts, responder) in responders {
        let messages = record(revision, responder).await;
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for message in &messages {
            *seen.entry(check(&schema, revision, message)).or_default() += 1;
        }
        let methods: BTreeSet<String> = seen.into_keys().collect();
        assert_eq!(methods, expected(revision, accepts), "{revision}");
        check_special(revision, accepts, &messages);
    }
}

/// The messages that are sent for a reason carry it.
fn check_special(revision: Revision, accepts: bool, messages: &[Value]) {
    let any = |pointer: &str| {
        messages
            .iter()
            .any(|message| message.pointer(pointer).is_some())
    };
    assert!(any("/params/cursor"), "no cursor");
    assert!(any("/params/_meta/progressToken"), "no progress token");
    assert_eq!(any("/params/task/ttl"), revision == Revision::V2025_11_25);
    let is_stateless = revision.era() == Era::Stateless;
    assert_eq!(any("/params/inputResponses/form/action"), is_stateless);
    assert_eq!(any("/params/inputResponses/url/action"), is_stateless);
    let samples = any("/params/inputResponses/sampling/role");
    assert_eq!(samples, is_stateless && accepts);
    assert_eq!(any("/params/requestState"), is_stateless);
}

#[tokio::test]
async fn messages_of_2024_11_05_are_valid() {
    everything_is_valid(Revision::V2024_11_05).await;
}

#[tokio::test]
async fn messages_of_2025_03_26_are_valid() {
    everything_is_valid(Revision::V2025_03_26).await;
}

#[tokio::test]
async fn messages_of_2025_06_18_are_valid() {
    everything_is_valid(Revision::V2025_06_18).await;
}

#[tokio::test]
async fn messages_of_2025_11_25_are_valid() {
    everything_is_valid(Revision::V2025_11_25).await;
}

#[tokio::test]
async fn messages_of_2026_07_28_are_valid() {
    everything_is_valid(Revision::V2026_07_28).await;
}

#[test]
fn broken_messages_are_refused_by_every_schema() {
    for revision in Revision::ALL {
        let schema = Schema::load(revision.as_str());
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "x", "arguments": {}, "_meta": meta } });
        schema.assert_valid("CallToolRequest", &call);
        schema.assert_valid("JSONRPCMessage", &call);
        let broken: [(&str, Value); 4] = [
            ("/params/name", json!(5)),
            ("/params/arguments", json!([])),
            ("/params", json!("x")),
            ("/method", json!("tools/cal")),
        ];
        for (place, value) in broken {
            let mut message = call.clone();
            *message.pointer_mut(place).unwrap() = value;
            schema.assert_invalid("CallToolRequest", &message);
        }
        for (definition, place, value) in [
            ("JSONRPCMessage", "/jsonrpc", json!("1.0")),
            // With such an id it would still pass as a notification.
            ("JSONRPCRequest", "/id", json!([])),
        ] {
            let mut message = call.clone();
            *message.pointer_mut(place).unwrap() = value;
            schema.assert_invalid(definition, &message);
        }
        for (definition, value) in [
            ("ListRootsResult", json!({ "roots": 5 })),
            ("CreateMessageResult", json!({ "role": "assistant" })),
            ("ElicitResult", json!({ "action": "perhaps" })),
            (
                "ElicitResult",
                json!({ "action": "accept", "content": { "a": null } }),
            ),
        ] {
            if schema.has(definition) {
                schema.assert_invalid(definition, &value);
            }
        }
    }
}
