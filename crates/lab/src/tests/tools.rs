//! The tools that answer, the lists, the resources and the prompts.

use std::collections::BTreeSet;
use std::num::NonZero;

use mcprove_servers::hosting::host::Eras;
use serde_json::{Value, json};

use super::support::{Pipe, modern, request, structured};
use crate::{LabOptions, tools};

#[tokio::test]
async fn every_result_fits_the_schema_of_its_tool() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    let arguments = [
        (
            "echo",
            json!({ "message": "é\n\u{0}", "data": { "a": [1, null] } }),
        ),
        ("error", json!({ "as_tool": true })),
        ("slow", json!({ "milliseconds": 1 })),
        ("flaky", json!({ "fail_rate": 0 })),
        ("fail_then_succeed", json!({ "failures": 0 })),
        ("progress", json!({ "steps": 2, "step_ms": 1 })),
        ("sized_response", json!({ "size": 1_000 })),
        ("announce", json!({ "what": "tools" })),
        ("write", json!({ "key": "k" })),
    ];
    for entry in tools() {
        let Some(output) = entry.tool.get("outputSchema") else {
            continue;
        };
        let given = arguments.iter().find(|(name, _)| *name == entry.name());
        let given = given.map_or(json!({}), |(_, given)| given.clone());
        pipe.send(&super::support::call(1, entry.name(), &given))
            .await;
        let reply = pipe.until_answer(1).await.pop().unwrap();
        let content = structured(&reply);
        let check = mcprove_arguments::SchemaCheck::new(output).unwrap();
        assert_eq!(check.failure(&content), None, "{}: {content}", entry.name());
    }
}

#[tokio::test]
async fn the_same_is_always_answered_the_same() {
    let calls = [
        ("fixed_response", json!({ "key": "a" })),
        ("lorem", json!({ "words": 20, "seed": "s" })),
        ("sized_response", json!({ "size": 77 })),
        ("long_output", json!({ "blocks": 3, "words": 5 })),
    ];
    let mut first = Pipe::ready(&LabOptions::default()).await;
    let mut second = Pipe::ready(&LabOptions::default()).await;
    for (tool, arguments) in calls {
        let reply = first.call(tool, &arguments).await;
        assert_eq!(reply, second.call(tool, &arguments).await);
    }
    let other = first.call("fixed_response", &json!({ "key": "b" })).await;
    assert_ne!(structured(&other)["body"], "");
    let known = structured(&first.call("fixed_response", &json!({ "key": "a" })).await);
    assert_ne!(structured(&other)["body"], known["body"]);
}

#[tokio::test]
async fn sizes_are_exact_and_capped() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    for (asked, size) in [
        (0, 0),
        (1, 1),
        (70_000, 70_000),
        (u64::MAX, 8 * 1024 * 1024),
    ] {
        let body = structured(&pipe.call("sized_response", &json!({ "size": asked })).await);
        assert_eq!(body["size"], size);
        assert_eq!(
            body["body"].as_str().unwrap().len(),
            usize::try_from(size).unwrap()
        );
    }
    let body = structured(&pipe.call("lorem", &json!({ "words": 9 })).await);
    assert_eq!(body["text"].as_str().unwrap().split(' ').count(), 9);
    let reply = pipe
        .call("long_output", &json!({ "blocks": 4, "words": 2 }))
        .await;
    assert_eq!(reply["result"]["content"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn content_of_every_kind() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    for (tool, kind, start) in [("image", "image", "iVBOR"), ("audio", "audio", "UklGR")] {
        let reply = pipe.call(tool, &json!({})).await;
        let block = &reply["result"]["content"][1];
        assert_eq!(block["type"], kind);
        assert!(block["data"].as_str().unwrap().starts_with(start));
    }
    let reply = pipe
        .call("resource", &json!({ "uri": "lab://numbers/12" }))
        .await;
    let blocks = &reply["result"]["content"];
    assert!(
        blocks[1]["resource"]["text"]
            .as_str()
            .unwrap()
            .contains("144")
    );
    assert_eq!(blocks[2]["type"], "resource_link");
    let reply = pipe
        .call("resource", &json!({ "uri": "lab://nowhere" }))
        .await;
    assert_eq!(reply["error"]["code"], -32_602);
}

#[tokio::test]
async fn old_clients_get_only_what_they_know() {
    let mut pipe = Pipe::ready_at(&LabOptions::default(), "2024-11-05").await;
    let tools = names(&pipe.ask(&request(1, "tools/list", &json!({}))).await["result"]["tools"]);
    assert!(tools.contains("error") && !tools.contains("audio") && !tools.contains("elicit"));
    assert!(pipe.call("audio", &json!({})).await["error"].is_object());
    let reply = pipe.call("resource", &json!({})).await;
    assert_eq!(reply["result"]["content"].as_array().unwrap().len(), 2);
}

fn names(list: &Value) -> BTreeSet<String> {
    let names = list.as_array().unwrap().iter();
    names
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn lists_come_in_pages_and_are_whole() {
    let lists = [
        ("tools/list", "tools", tools().len()),
        ("resources/list", "resources", 22),
        ("resources/templates/list", "resourceTemplates", 1),
        ("prompts/list", "prompts", 4),
    ];
    let options = LabOptions {
        page_size: NonZero::new(3),
        ..LabOptions::default()
    };
    let mut pipe = Pipe::open(&options);
    for (method, key, count) in lists {
        let (mut found, mut params, mut pages) = (BTreeSet::new(), json!({}), 0);
        loop {
            let reply = pipe.ask(&modern(1, method, &params)).await;
            let page = names(&reply["result"][key]);
            assert!(page.len() <= 3 && !page.is_empty());
            assert!(reply["result"]["ttlMs"].is_u64());
            found.extend(page);
            pages += 1;
            match reply["result"]["nextCursor"].as_str() {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => break,
            }
        }
        assert_eq!((found.len(), pages), (count, count.div_ceil(3)), "{method}");
        let reply = pipe
            .ask(&modern(1, method, &json!({ "cursor": "from-999" })))
            .await;
        assert_eq!(reply["error"]["code"], -32_602);
    }
}

#[tokio::test]
async fn resources_and_prompts_are_read() {
    let mut pipe = Pipe::ready(&LabOptions::default()).await;
    let read = |uri: &str| request(1, "resources/read", &json!({ "uri": uri }));
    let reply = pipe.ask(&read("lab://numbers/4000000000")).await;
    let text = reply["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("16000000000000000000"), "{text}");
    let reply = pipe.ask(&read("lab://pixel")).await;
    assert!(reply["result"]["contents"][0]["blob"].is_string());
    for uri in
        ["-1", "+5", "", "1.0", " 1", "4294967296"].map(|number| format!("lab://numbers/{number}"))
    {
        let reply = pipe.ask(&read(&uri)).await;
        assert_eq!(reply["error"]["code"], -32_002, "{uri}");
        assert_eq!(reply["error"]["data"]["uri"], uri);
    }
    let get = |name: &str, arguments: Value| {
        request(
            1,
            "prompts/get",
            &json!({ "name": name, "arguments": arguments }),
        )
    };
    let reply = pipe
        .ask(&get("greeting", json!({ "name": "Ada", "style": "terse" })))
        .await;
    let text = &reply["result"]["messages"][0]["content"]["text"];
    assert_eq!(text, "Greet Ada in a terse way.");
    let wrong = [
        get("greeting", json!({})),
        get("greeting", json!({ "name": 1 })),
        get("greeting", json!({ "name": "a", "nme": "b" })),
        get("nothing", json!({})),
    ];
    for message in wrong {
        assert_eq!(
            pipe.ask(&message).await["error"]["code"],
            -32_602,
            "{message}"
        );
    }
    let complete = json!({
        "ref": { "type": "ref/prompt", "name": "greeting" },
        "argument": { "name": "style", "value": "f" },
    });
    let reply = pipe
        .ask(&request(1, "completion/complete", &complete))
        .await;
    assert_eq!(
        reply["result"]["completion"]["values"],
        json!(["formal", "friendly"])
    );
}

#[tokio::test]
async fn the_fixtures_of_the_suite_are_there_only_when_wanted() {
    let list = modern(1, "tools/list", &json!({}));
    let mut plain = Pipe::open(&LabOptions::default());
    let without = names(&plain.ask(&list).await["result"]["tools"]);
    let options = LabOptions {
        conformance_fixtures: true,
        ..LabOptions::default()
    };
    let with = names(&Pipe::open(&options).ask(&list).await["result"]["tools"]);
    assert!(with.is_superset(&without) && with.contains("test_simple_text"));
    assert!(!without.iter().any(|name| name.starts_with("test_")));
    let read = modern(1, "resources/read", &json!({ "uri": "test://static-text" }));
    assert_eq!(plain.ask(&read).await["error"]["code"], -32_602);
}

#[tokio::test]
async fn one_era_can_be_left_out() {
    let options = LabOptions {
        eras: Eras::Stateless,
        ..LabOptions::default()
    };
    let mut pipe = Pipe::open(&options);
    let reply = pipe.ask(&super::support::initialize(1, "2025-11-25")).await;
    assert_eq!(reply["error"]["code"], -32_022);
    let reply = pipe.ask(&modern(2, "server/discover", &json!({}))).await;
    assert!(reply["result"]["capabilities"]["prompts"].is_object());
}
