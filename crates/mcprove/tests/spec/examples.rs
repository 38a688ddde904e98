//! Every published example of 2026-07-28 is read for what it is.

use std::collections::BTreeMap;

use mcprove_client::permission::judge;
use mcprove_client::session::{Accept, Responder};
use mcprove_trace::protocol::{
    DiscoverResult, Envelope, HEADER_MISMATCH, INVALID_PARAMS, Id, Implementation,
    META_PROTOCOL_VERSION, META_SERVER_INFO, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, Message,
    RpcError, Tool, UNSUPPORTED_PROTOCOL_VERSION,
};
use serde_json::{Value, json};

use crate::schema::{Schema, spec_folder};

/// The examples by name, as the specification publishes them.
const NAMES: &str = include_str!("example_names.txt");
const COUNT: usize = 129;

/// Requests that a server puts into `input_required`: they are parts, not messages.
const EMBEDDED_REQUESTS: [&str; 3] = ["CreateMessageRequest", "ElicitRequest", "ListRootsRequest"];

fn examples() -> BTreeMap<String, String> {
    let folder = spec_folder().join("examples-2026-07-28");
    let files = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{} cannot be read: {error}", folder.display()));
    let examples: BTreeMap<String, String> = files
        .map(|file| {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            (name, std::fs::read_to_string(file.path()).unwrap())
        })
        .collect();
    assert!(!examples.is_empty(), "{} is empty", folder.display());
    examples
}

fn example(name: &str) -> String {
    examples()
        .remove(&format!("{name}.json"))
        .unwrap_or_else(|| panic!("no example {name}"))
}

fn kind_of(name: &str) -> &str {
    name.split_once("--").unwrap().0
}

fn of_kind(wanted: &str) -> Vec<(String, String)> {
    let found: Vec<_> = examples()
        .into_iter()
        .filter(|(name, _)| kind_of(name) == wanted)
        .collect();
    assert!(!found.is_empty(), "no example of {wanted}");
    found
}

#[test]
fn the_examples_are_all_here() {
    let names: Vec<String> = examples().into_keys().collect();
    let expected: Vec<&str> = NAMES.lines().collect();
    assert_eq!(expected.len(), COUNT);
    assert_eq!(names, expected);
}

#[test]
fn the_examples_are_valid_by_their_schema() {
    let schema = Schema::load("2026-07-28");
    for (name, text) in examples() {
        let value: Value = serde_json::from_str(&text).unwrap();
        schema.assert_valid(kind_of(&name), &value);
    }
}

#[test]
fn whole_messages_are_told_apart() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, text) in examples() {
        let kind = kind_of(&name);
        let value: Value = serde_json::from_str(&text).unwrap();
        let envelope = Envelope::parse(text.as_bytes())
            .unwrap_or_else(|error| panic!("{name} does not parse: {error}"));
        let message = envelope.classify();
        if value.get("jsonrpc").is_none() {
            assert!(
                matches!(message, Message::Invalid { .. }),
                "{name}: {message:?}"
            );
            *counts.entry("part").or_default() += 1;
            continue;
        }
        let class = match message {
            Message::Request { id, method, params } => {
                assert_eq!(id, Id::Other(&value["id"].to_string()), "{name}");
                assert_eq!(method, value["method"], "{name}");
                let params: Value = serde_json::from_str(params).unwrap();
                assert_eq!(params, value["params"], "{name}");
                let version = &params["_meta"][META_PROTOCOL_VERSION];
                assert_eq!(version, "2026-07-28", "{name}");
                "Request"
            }
            Message::Notification { method, params } => {
                assert_eq!(method, value["method"], "{name}");
                let params: Value = serde_json::from_str(params).unwrap();
                assert_eq!(params, value["params"], "{name}");
                "Notification"
            }
            Message::Response { id, result } => {
                assert_eq!(id, Id::Other(&value["id"].to_string()), "{name}");
                let result: Value = serde_json::from_str(result).unwrap();
                assert_eq!(result, value["result"], "{name}");
                "ResultResponse"
            }
            Message::Error { id, error } => {
                assert_eq!(id, Id::Number(1), "{name}");
                let error: Value = serde_json::from_str(error).unwrap();
                assert_eq!(error, value["error"], "{name}");
                "Error"
            }
            Message::Invalid { reason, .. } => panic!("{name}: {reason}"),
        };
        assert!(kind.ends_with(class), "{name} was taken for a {class}");
        *counts.entry(class).or_default() += 1;
    }
    let expected = [
        ("Error", 3),
        ("Notification", 8),
        ("Request", 10),
        ("ResultResponse", 11),
        ("part", 97),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
    for kind in EMBEDDED_REQUESTS {
        for (name, text) in of_kind(kind) {
            assert!(!text.contains("jsonrpc"), "{name} is a message now");
        }
    }
}

#[test]
fn errors_are_read_with_their_code() {
    let codes = BTreeMap::from([
        ("HeaderMismatchError", HEADER_MISMATCH),
        ("InternalError", -32603),
        ("InvalidParamsError", INVALID_PARAMS),
        ("MethodNotFoundError", METHOD_NOT_FOUND),
        (
            "MissingRequiredClientCapabilityError",
            MISSING_CLIENT_CAPABILITY,
        ),
        ("ParseError", -32700),
        (
            "UnsupportedProtocolVersionError",
            UNSUPPORTED_PROTOCOL_VERSION,
        ),
    ]);
    let mut seen = 0;
    for (name, text) in examples() {
        let kind = kind_of(&name);
        if !kind.ends_with("Error") {
            continue;
        }
        let value: Value = serde_json::from_str(&text).unwrap();
        let part = value.get("error").unwrap_or(&value);
        let error: RpcError = serde_json::from_value(part.clone()).unwrap();
        assert_eq!(error.code, codes[kind], "{name}");
        assert_eq!(part["message"], error.message, "{name}");
        assert_eq!(part.get("data"), error.data.as_ref(), "{name}");
        let is_stateless = (-32022..=-32020).contains(&error.code);
        assert_eq!(error.is_of_stateless_era(), is_stateless, "{name}");
        let offered: &[&str] = match error.code {
            UNSUPPORTED_PROTOCOL_VERSION => &["2026-07-28", "2025-11-25"],
            _ => &[],
        };
        assert_eq!(error.supported_versions(), offered, "{name}");
        seen += 1;
    }
    assert_eq!(seen, 10);
}

#[test]
fn tools_keep_everything_that_we_look_at() {
    let mut tools: Vec<(String, Value)> = of_kind("Tool")
        .into_iter()
        .map(|(name, text)| (name, serde_json::from_str(&text).unwrap()))
        .collect();
    assert_eq!(tools.len(), 6);
    for name in [
        "ListToolsResult--tools-list-with-cursor-and-ttl",
        "ListToolsResultResponse--list-tools-result-response",
    ] {
        let value: Value = serde_json::from_str(&example(name)).unwrap();
        let list = value.get("result").unwrap_or(&value);
        for tool in list["tools"].as_array().unwrap() {
            tools.push((name.to_owned(), tool.clone()));
        }
    }
    for (name, value) in tools {
        let tool: Tool = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(value["name"], tool.name, "{name}");
        assert_eq!(value["inputSchema"], tool.input_schema, "{name}");
        let description = value.get("description").and_then(Value::as_str);
        assert_eq!(description, tool.description.as_deref(), "{name}");
        assert_eq!(
            value.get("outputSchema"),
            tool.output_schema.as_ref(),
            "{name}"
        );
        assert!(!tool.requires_task(), "{name}");
        let arguments = mcprove_arguments::minimal(&tool.input_schema)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            jsonschema::is_valid(&tool.input_schema, &arguments),
            "{name}"
        );
    }
}

#[test]
fn annotations_and_execution_are_read() {
    let value = json!({
        "name": "erase", "inputSchema": { "type": "object" },
        "annotations": {
            "title": "Erase", "readOnlyHint": false, "destructiveHint": true,
            "idempotentHint": true, "openWorldHint": false,
        },
        "execution": { "taskSupport": "required" },
    });
    for revision in ["2025-11-25", "2026-07-28"] {
        Schema::load(revision).assert_valid("Tool", &value);
    }
    let tool: Tool = serde_json::from_value(value).unwrap();
    let annotations = tool.annotations.clone().unwrap();
    assert_eq!(annotations.read_only_hint, Some(false));
    assert_eq!(annotations.destructive_hint, Some(true));
    assert_eq!(annotations.idempotent_hint, Some(true));
    assert_eq!(annotations.open_world_hint, Some(false));
    assert!(judge(&tool).is_err() && tool.requires_task());
}

#[test]
fn a_discovery_is_read_whole() {
    let result: DiscoverResult =
        serde_json::from_str(&example("DiscoverResult--server-capabilities-discovery")).unwrap();
    assert_eq!(result.supported_versions, ["2026-07-28"]);
    assert_eq!(result.capabilities, json!({ "tools": {}, "resources": {} }));
    assert!(result.instructions.unwrap().contains("get_weather"));
    let info: Implementation =
        serde_json::from_value(result.meta[META_SERVER_INFO].clone()).unwrap();
    assert_eq!(info.name, "ExampleServer");
    assert_eq!(info.version, "1.0.0");

    let text = example("DiscoverResultResponse--discover-result-response");
    let envelope = Envelope::parse(text.as_bytes()).unwrap();
    let result: DiscoverResult = serde_json::from_str(envelope.result.unwrap()).unwrap();
    assert_eq!(result.supported_versions, ["2026-07-28"]);
    assert_eq!(result.instructions, None);
}

#[test]
fn questions_of_the_examples_get_valid_answers() {
    let schema = Schema::load("2026-07-28");
    let text = example("InputRequests--elicitation-and-sampling-input-requests");
    let questions: Value = serde_json::from_str(&text).unwrap();
    let mut answers = serde_json::Map::new();
    for (key, question) in questions.as_object().unwrap() {
        let method = question["method"].as_str().unwrap();
        let answer = Accept.respond(method, &question["params"]).unwrap();
        answers.insert(key.clone(), answer);
    }
    assert!(answers["github_login"]["content"]["name"].is_string());
    assert_eq!(answers["capital_of_france"]["role"], "assistant");
    schema.assert_valid("InputResponses", &answers.into());

    for kind in ["ElicitRequestFormParams", "ElicitRequestURLParams"] {
        for (name, text) in of_kind(kind) {
            let params: Value = serde_json::from_str(&text).unwrap();
            let answer = Accept.respond("elicitation/create", &params).unwrap();
            schema.assert_valid("ElicitResult", &answer);
            let is_form = kind == "ElicitRequestFormParams";
            assert_eq!(answer.get("content").is_some(), is_form, "{name}");
            if is_form {
                let form = &params["requestedSchema"];
                assert!(jsonschema::is_valid(form, &answer["content"]), "{name}");
            }
        }
    }
}
