//! What a healthy mock answers.

use serde_json::json;

use super::{call, found, mock, mock_with, ready, search};
use crate::fixture::tests::{modern, request, text};
use crate::mock::{Mock, MockError, MockOptions, MockSpec, ToolSpec};

#[tokio::test]
async fn responses_are_chosen_by_arguments() {
    let mut pipe = ready(&mock(&[])).await;
    assert_eq!(pipe.ask(&search(1, "x")).await, found(1, "x"));
    let error = pipe.ask(&search(2, "boom")).await;
    assert_eq!(
        error["error"],
        json!({ "code": -32000, "message": "no boom", "data": { "q": "boom" } })
    );
    assert_eq!(text(&pipe.ask(&search(3, "many")).await), "first");
    assert_eq!(pipe.ask(&search(4, "many")).await["error"]["code"], 7);
    for id in 5..7 {
        assert_eq!(text(&pipe.ask(&search(id, "many")).await), "second");
    }
    // Another call does not move the sequence, nor does the order of keys or the writing of numbers
    // make another value.
    let nested = json!({ "filter": { "a": [1.0, 2], "b": 1 }, "other": 1 });
    assert_eq!(text(&pipe.ask(&call(7, "deep", nested)).await), "nested");
    let other = json!({ "filter": { "a": [2, 1], "b": 1 }, "n": 5 });
    let reply = pipe.ask(&call(8, "deep", other)).await;
    assert_eq!(
        reply["result"]["content"][1],
        json!({ "type": "text", "text": "b 5" })
    );
    assert_eq!(reply["result"]["structuredContent"], json!({ "n": 5 }));
    assert_eq!(reply["result"]["isError"], true);
    assert_eq!(
        text(&pipe.ask(&call(9, "deep", json!({ "n": null }))).await),
        "null"
    );
}

#[tokio::test]
async fn tools_without_a_response_answer_something_sensible() {
    let mut pipe = ready(&mock(&[])).await;
    let reply = pipe.ask(&call(1, "echo", json!({ "a": [1] }))).await;
    assert_eq!(text(&reply), r#"{"a":[1]}"#);
    let reply = pipe
        .ask(&request(2, "tools/call", json!({ "name": "echo" })))
        .await;
    assert_eq!(text(&reply), "{}");
    let reply = pipe.ask(&call(3, "weather", json!({}))).await;
    assert!(reply["result"]["structuredContent"]["degrees"].is_number());
}

#[tokio::test]
async fn arguments_are_held_to_the_schema() {
    let mut pipe = ready(&mock(&[])).await;
    for (arguments, named) in [
        (json!({}), "\"query\" is a required property"),
        (
            json!({ "query": 5 }),
            "argument \"query\": 5 is not of type \"string\"",
        ),
        (
            json!({ "query": "x", "limit": 0 }),
            "argument \"limit\": 0 is less than",
        ),
        (json!({ "query": "x", "else": 1 }), "'else' was unexpected"),
    ] {
        let reply = pipe.ask(&call(1, "search", arguments)).await;
        assert_eq!(reply["result"]["isError"], true);
        assert!(text(&reply).contains(named), "{}", text(&reply));
    }
    let reply = pipe.ask(&call(2, "nope", json!({}))).await;
    assert_eq!(reply["error"]["code"], -32602);
    assert_eq!(reply["error"]["message"], "Unknown tool: nope");
    let reply = pipe.ask(&call(3, "search", json!(["x"]))).await;
    assert_eq!(reply["error"]["code"], -32602);
}

#[tokio::test]
async fn resources_prompts_and_pages() {
    let mut pipe = ready(&mock(&[])).await;
    let first = pipe.ask(&request(1, "tools/list", json!({}))).await;
    assert_eq!(first["result"]["tools"].as_array().unwrap().len(), 2);
    let cursor = &first["result"]["nextCursor"];
    let rest = pipe
        .ask(&request(2, "tools/list", json!({ "cursor": cursor })))
        .await;
    assert_eq!(rest["result"]["tools"][1]["name"], "weather");
    assert!(rest["result"].get("nextCursor").is_none());

    let list = pipe.ask(&request(3, "resources/list", json!({}))).await;
    assert_eq!(list["result"]["resources"][0]["name"], "file:///a");
    let read = |uri: &str| request(4, "resources/read", json!({ "uri": uri }));
    let contents =
        json!([{ "uri": "file:///a", "mimeType": "text/plain", "text": "costs ${args.x}" }]);
    assert_eq!(
        pipe.ask(&read("file:///a")).await["result"]["contents"],
        contents
    );
    assert_eq!(
        pipe.ask(&read("file:///b")).await["result"]["contents"][0]["blob"],
        "aGk="
    );
    assert_eq!(
        pipe.ask(&read("page:///7")).await["result"]["contents"][0]["text"],
        "page 7"
    );
    assert_eq!(pipe.ask(&read("no:///7")).await["error"]["code"], -32002);
    let templates = pipe
        .ask(&request(5, "resources/templates/list", json!({})))
        .await;
    assert_eq!(
        templates["result"]["resourceTemplates"][0]["name"],
        "page:///{id}"
    );

    let get = |arguments| {
        request(
            6,
            "prompts/get",
            json!({ "name": "sum", "arguments": arguments }),
        )
    };
    let prompt = pipe.ask(&get(json!({ "topic": "it" }))).await;
    assert_eq!(
        prompt["result"]["messages"][0]["content"]["text"],
        "Sum up it"
    );
    assert_eq!(prompt["result"]["messages"][1]["role"], "assistant");
    assert_eq!(pipe.ask(&get(json!({}))).await["error"]["code"], -32602);
    let list = pipe.ask(&request(7, "prompts/list", json!({}))).await;
    assert_eq!(
        list["result"]["prompts"][0]["arguments"][1]["name"],
        "style"
    );
}

#[tokio::test]
async fn a_mock_of_tools_alone_has_nothing_else() {
    let mock = mock_with("tools: [{ name: a }]", &[], None);
    let mut pipe = ready(&mock).await;
    for method in ["resources/list", "prompts/list", "nothing/such"] {
        let reply = pipe.ask(&request(1, method, json!({}))).await;
        assert_eq!(reply["error"]["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn the_stateless_era_is_spoken_too() {
    let (output, input) = mock(&[]).spawn_in_memory();
    let mut pipe = crate::fixture::tests::Pipe::over(output, input);
    let discovered = pipe.ask(&modern(1, "server/discover", json!({}))).await;
    assert_eq!(discovered["result"]["instructions"], "be kind");
    assert_eq!(
        discovered["result"]["capabilities"],
        json!({ "tools": {}, "resources": {}, "prompts": {} })
    );
    let arguments = json!({ "name": "search", "arguments": { "query": "x" } });
    let reply = pipe.ask(&modern(2, "tools/call", arguments)).await;
    assert_eq!(text(&reply), "found x");
    assert_eq!(reply["result"]["resultType"], "complete");
    let read = pipe
        .ask(&modern(3, "resources/read", json!({ "uri": "no:///" })))
        .await;
    assert_eq!(read["error"]["code"], -32602);
    let list = pipe.ask(&modern(4, "prompts/list", json!({}))).await;
    assert!(list["result"]["ttlMs"].is_number());
}

#[test]
fn a_mock_that_cannot_be_made_says_why() {
    let made = |tools: Vec<ToolSpec>| {
        let spec = MockSpec {
            tools,
            ..MockSpec::new("x")
        };
        Mock::new(spec, MockOptions::default()).err().unwrap()
    };
    let twice = made(vec![ToolSpec::new("a"), ToolSpec::new("a")]);
    assert_eq!(twice, MockError::SameTool("a".into()));
    let broken = ToolSpec::new("a").with(
        "inputSchema",
        json!({ "properties": { "x": { "type": 5 } } }),
    );
    let error = made(vec![broken]).to_string();
    assert!(
        error.contains("`inputSchema` of tool \"a\"") && error.contains("/properties/x/type"),
        "{error}"
    );
}
