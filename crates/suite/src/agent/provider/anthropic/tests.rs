use super::*;
use crate::agent::WireNames;
use crate::agent::provider::Conversation;
use crate::agent::toolbox::OfferedTool;
use crate::plan::ModelPlan;

pub(crate) fn plan(model: &str, provider: &'static Entry) -> ModelPlan {
    ModelPlan {
        model: model.to_owned(),
        provider,
        base_url: None,
        api_key_env: None,
        temperature: Some(0.5),
        max_tokens: 100,
    }
}

pub(crate) fn offered() -> Vec<OfferedTool> {
    vec![OfferedTool {
        server: "api".to_owned(),
        name: "search".to_owned(),
        description: Some("Finds.".to_owned()),
        input_schema: json!({ "type": "object", "properties": { "q": { "type": "string" } } }),
        annotations: None,
    }]
}

pub(crate) fn written(entry: &Entry, model: &ModelPlan, conversation: &Conversation) -> String {
    let tools = offered();
    let names = WireNames::new(&tools);
    let body = (entry.write)(&Question {
        model,
        system: Some("Be brief."),
        tools: &tools,
        names: &names,
        conversation,
    });
    String::from_utf8(body).unwrap()
}

pub(crate) fn results(id: &str) -> Message {
    Message::Results(vec![
        CallResult {
            id: id.to_owned(),
            shown: vec![
                ModelContent::Text("found".to_owned()),
                ModelContent::Picture {
                    media_type: "image/png".to_owned(),
                    data: "AAAA".to_owned(),
                },
            ],
            is_error: false,
        },
        CallResult {
            id: "other".to_owned(),
            shown: Vec::new(),
            is_error: true,
        },
    ])
}

#[test]
fn a_request_is_these_bytes() {
    let kept = serde_json::from_str(r#"[{"type":"thinking","signature":"x","thinking":"b"}]"#);
    let conversation = Conversation {
        messages: vec![
            Message::User("Hi".to_owned()),
            Message::Model(kept.unwrap()),
            results("toolu_1"),
        ],
        container: None,
    };
    let plan = plan("claude-test", &ENTRY);
    let expected = concat!(
        r#"{"model":"claude-test","max_tokens":100,"temperature":0.5,"system":"Be brief.","#,
        r#""tools":[{"description":"Finds.","input_schema":{"properties":{"q":{"type":"string"}},"type":"object"},"name":"api__search"}],"#,
        r#""messages":[{"role":"user","content":"Hi"},"#,
        r#"{"role":"assistant","content":[{"type":"thinking","signature":"x","thinking":"b"}]},"#,
        r#"{"role":"user","content":[{"content":[{"text":"found","type":"text"},"#,
        r#"{"source":{"data":"AAAA","media_type":"image/png","type":"base64"},"type":"image"}],"#,
        r#""tool_use_id":"toolu_1","type":"tool_result"},"#,
        r#"{"is_error":true,"tool_use_id":"other","type":"tool_result"}]}]}"#,
    );
    assert_eq!(written(&ENTRY, &plan, &conversation), expected);
}

fn answer(content: &str, rest: &str) -> ModelAnswer {
    let body = format!(r#"{{"type":"message","content":{content}{rest}}}"#);
    read(body.as_bytes()).unwrap()
}

#[test]
fn an_answer_is_taken_apart_and_kept_as_it_came() {
    let content = concat!(
        r#"[{"type":"thinking","thinking":"Well.","signature":"s"},{"type":"text","text":""},"#,
        r#"{"type":"text","text":"I loo"},{"type":"text","text":"k."},{"type":"web_search_tool_result","content":[]},"#,
        r#"{"type":"text","text":"Now."},"#,
        r#"{"type":"tool_use","id":"t1","name":"api__search","input":{"z":1.0,"a":12345678901234567890123},"caller":{"type":"direct"}},"#,
        r#"{"type":"tool_use","id":"t2","name":"api__search","input":{},"caller":{"type":"code_execution_20260120","tool_id":"s1"}}]"#,
    );
    let rest = r#","stop_reason":"tool_use","usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":7},"container":{"id":"c1"}"#;
    let answer = answer(content, rest);
    assert_eq!(answer.text, "I look.\nNow.");
    assert_eq!(answer.stop, Stop::Calls);
    let Arguments::Given(args) = &answer.uses[0].arguments else {
        panic!("{answer:?}");
    };
    assert_eq!(args.text(), r#"{"z":1.0,"a":12345678901234567890123}"#);
    assert_eq!(answer.uses[0].caller, None);
    assert_eq!(answer.uses[1].caller.as_ref().unwrap()["tool_id"], "s1");
    let tokens = answer.tokens.unwrap();
    assert_eq!(
        (tokens.prompt, tokens.completion, tokens.total),
        (Some(15), Some(7), Some(22))
    );
    assert_eq!(answer.container.as_deref(), Some("c1"));
    // But for the empty text, which would be refused.
    let kept = content.replace(r#"{"type":"text","text":""},"#, "");
    assert_eq!(answer.kept.unwrap().text(), kept);
}

#[test]
fn every_end_is_understood() {
    for (reason, stop) in [
        ("end_turn", Stop::Done),
        ("stop_sequence", Stop::Done),
        ("max_tokens", Stop::Cut),
        ("model_context_window_exceeded", Stop::Cut),
        ("pause_turn", Stop::Paused),
        ("refusal", Stop::Declined("refusal".to_owned())),
        ("new_reason", Stop::Other),
    ] {
        let answer = answer("[]", &format!(r#","stop_reason":"{reason}""#));
        assert_eq!(answer.stop, stop);
        assert_eq!((answer.kept, answer.tokens), (None, None));
    }
}

#[test]
fn what_is_no_answer_is_told() {
    let deep = format!(r#"{{"content":[{}]}}"#, "[".repeat(500) + &"]".repeat(500));
    for body in [
        "",
        "<html>",
        "[]",
        "{}",
        r#"{"content":"text"}"#,
        r#"{"content":[{"no":"type"}]}"#,
        r#"{"content":[{"type":"tool_use","name":"x"}]}"#,
        r#"{"content":[],"usage":{"input_tokens":"many"}}"#,
        &deep,
    ] {
        let error = read(body.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("not understood"), "{body}");
    }
    let busy = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    let error = read(busy.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("overloaded_error: busy"), "{error}");
}

#[test]
fn arguments_that_are_no_object_are_the_models_affair() {
    let content = r#"[{"type":"tool_use","id":"t","name":"x","input":[1]}]"#;
    let answer = answer(content, "");
    assert!(matches!(&answer.uses[0].arguments, Arguments::Bad { raw, .. } if raw == "[1]"));
}

#[test]
fn a_reply_with_nothing_in_it_is_no_answer() {
    for body in [
        r#"{"content":[]}"#,
        r#"{"content":[],"stop_reason":null}"#,
        r#"{"content":[{"type":"text","text":""}]}"#,
    ] {
        let error = read(body.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("stop_reason"), "{body}: {error}");
    }
    let done = read(br#"{"content":[],"stop_reason":"end_turn"}"#).unwrap();
    assert_eq!((done.text.as_str(), done.stop), ("", Stop::Done));
}
