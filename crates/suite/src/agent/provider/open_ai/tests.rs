use super::super::anthropic::tests::{plan, results, written};
use super::*;
use crate::agent::provider::Conversation;

#[test]
fn a_request_is_these_bytes() {
    let kept: Json = serde_json::from_str(r#"{"content":null,"role":"assistant"}"#).unwrap();
    let conversation = Conversation {
        messages: vec![
            Message::User("Hi".to_owned()),
            Message::Model(kept),
            results("call_1"),
        ],
        container: None,
    };
    let expected = concat!(
        r#"{"model":"llama","max_tokens":100,"temperature":0.5,"#,
        r#""tools":[{"function":{"description":"Finds.","name":"api__search","#,
        r#""parameters":{"properties":{"q":{"type":"string"}},"type":"object"}},"type":"function"}],"#,
        r#""messages":[{"content":"Be brief.","role":"system"},{"content":"Hi","role":"user"},"#,
        r#"{"content":null,"role":"assistant"},"#,
        r#"{"content":"found\n[image, image/png, 4 bytes of Base64, not shown]","role":"tool","tool_call_id":"call_1"},"#,
        r#"{"content":"Error: ","role":"tool","tool_call_id":"other"}]}"#,
    );
    assert_eq!(
        written(&ENTRY, &plan("llama", &ENTRY), &conversation),
        expected
    );
}

#[test]
fn the_limit_of_tokens_has_the_name_that_the_server_keeps_to() {
    for (model, name) in [
        ("gpt-4o", "max_completion_tokens"),
        ("gpt-5-mini", "max_completion_tokens"),
        ("chatgpt-4o-latest", "max_completion_tokens"),
        ("o3-mini", "max_completion_tokens"),
        ("openai/gpt-5", "max_completion_tokens"),
        ("gpt-oss:20b", "max_tokens"),
        ("openai/gpt-oss-120b", "max_tokens"),
        ("llama3.2", "max_tokens"),
        ("olmo-2", "max_tokens"),
        ("Qwen/Qwen3-8B", "max_tokens"),
    ] {
        let body = written(&ENTRY, &plan(model, &ENTRY), &Conversation::default());
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body[name], 100, "{model}");
        let both = ["max_tokens", "max_completion_tokens"];
        let count = both.iter().filter(|key| body.get(key).is_some()).count();
        assert_eq!(count, 1, "{model}");
    }
}

fn answer(message: &str, rest: &str) -> ModelAnswer {
    let body = format!(r#"{{"choices":[{{"message":{message}{rest}}}]}}"#);
    read(body.as_bytes()).unwrap()
}

#[test]
fn calls_are_read_and_made_fit_to_be_sent_back() {
    let message = concat!(
        r#"{"role":"assistant","content":null,"refusal":null,"audio":null,"reasoning_content":"hm","tool_calls":["#,
        r#"{"id":"c1","type":"function","extra":{"sign":"x"},"function":{"name":"api__search","arguments":"{\"b\":1, \"a\":2}"}},"#,
        r#"{"function":{"name":"api__search","arguments":{"a":1}}},"#,
        r#"{"id":"c3","function":{"name":"api__search","arguments":"{\"a\": "}},"#,
        r#"{"id":"c4","function":{"name":"api__search","arguments":""}}]}"#,
    );
    let answer = answer(message, r#","finish_reason":"stop""#);
    assert_eq!(answer.stop, Stop::Calls, "whatever the server calls it");
    let texts: Vec<Option<&str>> = answer
        .uses
        .iter()
        .map(|tool_use| match &tool_use.arguments {
            Arguments::Given(json) => Some(json.text()),
            Arguments::Bad { .. } => None,
        })
        .collect();
    assert_eq!(
        texts,
        [
            Some(r#"{"b":1, "a":2}"#),
            Some(r#"{"a":1}"#),
            None,
            Some("{}")
        ]
    );
    let kept = answer.kept.unwrap().value();
    assert_eq!(
        kept["tool_calls"][0]["function"]["arguments"],
        r#"{"b":1, "a":2}"#
    );
    assert_eq!(kept["tool_calls"][0]["extra"]["sign"], "x");
    assert_eq!(kept["tool_calls"][1]["id"], "call_1");
    assert_eq!(kept["tool_calls"][2]["function"]["arguments"], "{}");
    assert_eq!(kept["reasoning_content"], "hm");
    assert!(kept.get("audio").is_none() && kept["content"].is_null());
}

#[test]
fn every_end_and_every_way_to_say_it() {
    for (message, reason, text, stop) in [
        (r#"{"content":"Hi"}"#, "stop", "Hi", Stop::Done),
        (
            r#"{"content":[{"type":"text","text":"Hi"}]}"#,
            "stop",
            "Hi",
            Stop::Done,
        ),
        (r#"{"content":"Hi"}"#, "length", "Hi", Stop::Cut),
        (
            r#"{"content":null,"refusal":"No."}"#,
            "stop",
            "No.",
            Stop::Declined("refusal".to_owned()),
        ),
        (
            r#"{"content":""}"#,
            "content_filter",
            "",
            Stop::Declined("content_filter".to_owned()),
        ),
    ] {
        let answer = answer(message, &format!(r#","finish_reason":"{reason}""#));
        assert_eq!((answer.text.as_str(), answer.stop), (text, stop));
        assert_eq!(answer.kept.is_none(), text.is_empty());
    }
}

#[test]
fn tokens_are_those_that_are_told() {
    let usage = |usage: &str| {
        let body = format!(r#"{{"choices":[{{"message":{{"content":"x"}}}}],"usage":{usage}}}"#);
        read(body.as_bytes()).unwrap().tokens
    };
    let told = usage(r#"{"prompt_tokens":3,"completion_tokens":4}"#).unwrap();
    assert_eq!(told.total, Some(7));
    assert_eq!(usage("{}"), None);
    assert_eq!(usage("null"), None);
}

#[test]
fn what_is_no_answer_is_told() {
    for body in [
        "",
        "{}",
        r#"{"choices":[]}"#,
        r#"{"choices":[{"message":"text"}]}"#,
        r#"{"choices":[{"message":{"content":"So"},"finish_reason":"error"}]}"#,
        r#"{"choices":[{"message":{"tool_calls":[{"id":"x"}]}}]}"#,
        r#"{"error":{"message":"model is loading"}}"#,
    ] {
        let error = read(body.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("not understood"), "{body}");
    }
}

#[test]
fn a_call_of_the_old_kind_is_not_lost() {
    let body = r#"{"choices":[{"finish_reason":"function_call","message":{"content":null,"function_call":{"name":"search","arguments":"{}"}}}]}"#;
    let error = read(body.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("`function_call`"), "{error}");
    // Some servers have the member in every answer.
    let body =
        r#"{"choices":[{"finish_reason":"stop","message":{"content":"Hi","function_call":null}}]}"#;
    assert_eq!(read(body.as_bytes()).unwrap().text, "Hi");
}
