//! Tools that ask the client, in both eras.

use serde_json::{Value, json};

use super::support::{Pipe, call, modern, request, structured};
use crate::LabOptions;

fn answer(question: &Value) -> Value {
    match question["method"].as_str().unwrap() {
        "sampling/createMessage" => {
            let asked = &question["params"]["messages"][0]["content"]["text"];
            let text = format!("you said {}", asked.as_str().unwrap());
            json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": text } })
        }
        "elicitation/create" => json!({ "action": "accept", "content": { "name": "Ada" } }),
        _ => json!({ "roots": [{ "uri": "file:///tmp" }] }),
    }
}

fn check(tool: &str, reply: &Value) {
    let body = structured(reply);
    match tool {
        "sample" => assert_eq!(body["text"], "you said hi"),
        "elicit" => assert_eq!(body["content"]["name"], "Ada"),
        _ => assert_eq!(body["roots"][0]["uri"], "file:///tmp"),
    }
}

const TOOLS: [&str; 3] = ["sample", "elicit", "roots"];

fn arguments(tool: &str) -> Value {
    match tool {
        "sample" => json!({ "prompt": "hi" }),
        _ => json!({}),
    }
}

#[tokio::test]
async fn the_handshake_era_asks_with_a_request() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    for tool in TOOLS {
        let question = pipe.ask(&call(1, tool, &arguments(tool))).await;
        let response =
            json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer(&question) });
        check(tool, &pipe.ask(&response).await);
    }
    for (tool, wrong) in [
        (
            "elicit",
            json!({ "action": "accept", "content": { "name": 7 } }),
        ),
        ("elicit", json!({ "action": "perhaps" })),
        ("sample", json!({ "role": "assistant" })),
        ("roots", json!({ "roots": "none" })),
    ] {
        let question = pipe.ask(&call(1, tool, &arguments(tool))).await;
        let response = json!({ "jsonrpc": "2.0", "id": question["id"], "result": wrong });
        let reply = pipe.ask(&response).await;
        assert_eq!(reply["result"]["isError"], true, "{tool}: {reply}");
        let problem = structured(&reply)["problem"].to_string();
        assert!(problem.contains("does not fit"), "{reply}");
    }
    let question = pipe.ask(&call(1, "sample", &arguments("sample"))).await;
    let error = json!({ "code": -1, "message": "the user declined" });
    let refused = json!({ "jsonrpc": "2.0", "id": question["id"], "error": error });
    let reply = pipe.ask(&refused).await;
    assert_eq!(reply["result"]["isError"], true);
    assert!(reply.to_string().contains("the user declined"));
}

#[tokio::test]
async fn the_stateless_era_asks_with_a_result() {
    let mut pipe = Pipe::open(&LabOptions::default());
    for tool in TOOLS {
        let mut params = json!({ "name": tool, "arguments": arguments(tool) });
        let asked = pipe.ask(&modern(1, "tools/call", &params)).await;
        assert_eq!(asked["result"]["resultType"], "input_required");
        let question = &asked["result"]["inputRequests"][tool];
        params["inputResponses"] = json!({ tool: answer(question) });
        params["requestState"] = asked["result"]["requestState"].clone();
        check(tool, &pipe.ask(&modern(2, "tools/call", &params)).await);
        // An answer that is none is asked for again.
        let mut empty = params.clone();
        empty["inputResponses"] = json!({ tool: { "nothing": true } });
        let reply = pipe.ask(&modern(3, "tools/call", &empty)).await;
        assert_eq!(reply["result"]["resultType"], "input_required", "{tool}");
        let asked_with = [("elicit", "message"), ("sample", "prompt")];
        if let Some((_, name)) = asked_with.iter().find(|(asking, _)| *asking == tool) {
            // What was given out for one call opens no other.
            let mut other = params.clone();
            other["arguments"][name] = json!("something else");
            let reply = pipe.ask(&modern(5, "tools/call", &other)).await;
            assert_eq!(reply["error"]["code"], -32_602, "{reply}");
        }
        params["requestState"] = json!("made up");
        let reply = pipe.ask(&modern(4, "tools/call", &params)).await;
        assert_eq!(reply["error"]["code"], -32_602);
    }
}

#[tokio::test]
async fn a_client_that_cannot_is_told() {
    let mut pipe = Pipe::open(&LabOptions::default());
    let params = json!({
        "name": "sample",
        "arguments": { "prompt": "hi" },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    let reply = pipe.ask(&request(1, "tools/call", &params)).await;
    assert_eq!(reply["error"]["code"], -32_021);
    assert!(reply["error"]["data"]["requiredCapabilities"]["sampling"].is_object());
    let plain = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
    pipe.ask(&request(2, "initialize", &plain)).await;
    let reply = pipe.call("sample", &json!({ "prompt": "hi" })).await;
    assert_eq!(reply["result"]["isError"], true);
    let reply = pipe
        .call("elicit", &json!({ "schema": { "type": 7 } }))
        .await;
    assert_eq!(reply["error"]["code"], -32_602);
}
