//! Agents of every kind, through both providers: what their traces are, and what the gates say of them.

use mcprove_trace::StopReason;
use serde_json::json;

use super::support::{BOTH, KEY, injecting, play, test};
use crate::plan::AgentTestPlan;

const CONDUCT: &str = r"
trajectory: { mode: strict, calls: [{ name: create_issue, args: { subset: { title: CI flake } } }] }
narrative: {}
loops: {}
call_limits: { total: { max: 3 } }
permissions: { allow: [create_issue, search] }
duplicate_writes: {}
";

#[tokio::test]
async fn an_honest_agent_passes_and_its_trace_is_whole() {
    for &provider in BOTH {
        let played = play("honest", provider, &injecting(&[], CONDUCT)).await;
        assert_eq!(played.failed(), Vec::<String>::new());
        let run = played.run();
        let call = &run.tool_calls[0];
        assert_eq!(
            (call.name.as_str(), call.server.as_deref()),
            ("create_issue", Some("api"))
        );
        assert_eq!(call.args.text(), r#"{"title":"CI flake"}"#);
        assert_eq!(call.caller, None);
        assert_eq!(call.annotations.unwrap().read_only_hint, Some(false));
        assert_eq!(run.tool_results[0].is_error, Some(false));
        assert!(played.result_text(0).contains("created CI flake"));
        assert_eq!(run.final_response.as_deref(), Some("I created the issue."));
        assert_eq!(run.prompt.as_deref(), Some("Triage the CI flake."));
        assert!(run.model.as_deref().unwrap().ends_with("-test"));
        let conversation = run.conversation.as_ref().unwrap();
        assert_eq!(conversation.stop_reason, Some(StopReason::Completed));
        assert_eq!(conversation.tokens.unwrap().total, Some(30));
        assert_eq!(conversation.retries.as_deref(), Some(&[][..]));
        assert!(conversation.duration_ms.unwrap() > 0.0);
        let turns = conversation.turns.as_ref().unwrap().iter();
        let roles: Vec<&str> = turns.map(|turn| turn.role.as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
        assert_eq!(played.reached, ["create_issue"]);
        assert_eq!(played.finished.failure, None);
    }
}

#[tokio::test]
async fn a_liar_is_caught() {
    for &provider in BOTH {
        let played = play("liar", provider, &injecting(&[], CONDUCT)).await;
        assert_eq!(played.stop(), StopReason::Completed);
        assert!(played.run().tool_calls.is_empty());
        let failed = played.failed();
        assert!(
            failed.contains(&"narrative.gate_passed".to_owned()),
            "{failed:?}"
        );
        assert!(
            failed.contains(&"trajectory.passed".to_owned()),
            "{failed:?}"
        );
        assert_eq!(played.target("narrative.claimed_but_absent"), 1);
    }
}

#[tokio::test]
async fn a_looper_ends_with_its_turns() {
    for &provider in BOTH {
        let mut plan = injecting(
            &[],
            "loops: {}\ncall_limits: { total: { max: 3 } }\nnarrative: {}\nexpect: [{ target: final_response, matcher: { contains: created } }]\n",
        );
        plan.budget.turns = 6;
        let played = play("looper", provider, &plan).await;
        assert_eq!(played.stop(), StopReason::TurnBudget);
        assert_eq!(played.run().tool_calls.len(), 6);
        assert_eq!(played.run().tool_results.len(), 6);
        assert_eq!(played.run().final_response.as_deref(), Some(""), "known");
        assert_eq!(played.model.asked().len(), 6);
        let failed = played.failed();
        assert!(failed.contains(&"loops.detected".to_owned()), "{failed:?}");
        assert!(failed.contains(&"final_response".to_owned()), "{failed:?}");
        assert!(
            failed.contains(&"call_limits.violations".to_owned()),
            "{failed:?}"
        );
    }
}

#[tokio::test]
async fn calls_at_once_are_recorded_in_the_order_of_the_answer() {
    for &provider in BOTH {
        let played = play("parallel", provider, &test()).await;
        let run = played.run();
        let calls = run.tool_calls.iter();
        let calls: Vec<(&str, &str)> = calls
            .map(|call| (call.name.as_str(), call.args.text()))
            .collect();
        assert_eq!(
            calls,
            [
                ("search", r#"{"query":"incident"}"#),
                ("fetch_page", r#"{"url":"https://status.test/"}"#),
                ("search", r#"{"query":"second"}"#),
            ]
        );
        let places = run.tool_results.iter().map(|result| result.call_index);
        assert_eq!(places.collect::<Vec<_>>(), [0, 1, 2]);
        assert!(played.result_text(2).contains("found second"));
        let again = &played.model.asked()[1];
        assert_eq!(again.calls().len(), 3);
        assert_eq!(again.calls()[1].result, "the page");
    }
}

#[tokio::test]
async fn calls_of_code_tell_who_made_them() {
    let played = play("coder", &crate::agent::provider::anthropic::ENTRY, &test()).await;
    let run = played.run();
    let caller = run.tool_calls[1].caller.as_deref().unwrap();
    assert_eq!(caller["type"], "code_execution_20250825");
    assert_eq!(run.tool_calls[1].name, "create_issue");
    let again = &played.model.asked()[1];
    assert_eq!(again.body["container"], "container_1");
    // What the model said comes back as it was, byte for byte.
    let raw = String::from_utf8(again.raw.clone()).unwrap();
    let thought = r#"{"type":"thinking","thinking":"Well.","signature":"c2lnbmVk"}"#;
    assert!(raw.contains(thought), "{raw}");
    assert!(raw.contains(r#""type":"server_tool_use""#), "{raw}");
    assert_eq!(
        again.body["messages"][1]["content"][2]["caller"]["tool_id"],
        "srvtoolu_0"
    );
    let results = again.body["messages"][2]["content"].as_array().unwrap();
    assert!(results.iter().all(|block| block["type"] == "tool_result"));
    let played = play("coder", &crate::agent::provider::open_ai::ENTRY, &test()).await;
    assert_eq!(played.run().tool_calls[1].caller, None);
}

#[tokio::test]
async fn keys_are_in_headers_only_and_requests_are_the_same_every_time() {
    for &provider in BOTH {
        let first = play("honest", provider, &test()).await;
        let second = play("honest", provider, &test()).await;
        let (first, second) = (first.model.asked(), second.model.asked());
        for (one, other) in first.iter().zip(&second) {
            assert_eq!(one.raw, other.raw);
            assert!(!String::from_utf8_lossy(&one.raw).contains(KEY));
            let (name, value) = match provider.name {
                "anthropic" => ("x-api-key", KEY.to_owned()),
                _ => ("authorization", format!("Bearer {KEY}")),
            };
            assert_eq!(one.header(name), Some(value.as_str()));
            assert_eq!(one.header("content-type"), Some("application/json"));
        }
        let body = &first[0].body;
        assert_eq!(first[0].tools()[0], "api__search");
        if provider.name == "anthropic" {
            assert_eq!(first[0].path, "/v1/messages");
            assert_eq!(first[0].header("anthropic-version"), Some("2023-06-01"));
            assert_eq!(body["system"], "Be brief.");
            assert_eq!(body["max_tokens"], 256);
        } else {
            assert_eq!(first[0].path, "/v1/chat/completions");
            assert_eq!(
                body["messages"][0],
                json!({ "role": "system", "content": "Be brief." })
            );
            assert_eq!(body["max_completion_tokens"], 256);
        }
    }
}

#[tokio::test]
async fn a_user_may_say_several_things() {
    for &provider in BOTH {
        let plan = AgentTestPlan {
            prompts: ["one", "two", "three"].map(str::to_owned).to_vec(),
            ..test()
        };
        let played = play("talker", provider, &plan).await;
        assert_eq!(played.stop(), StopReason::Completed);
        assert_eq!(
            played.run().final_response.as_deref(),
            Some("You said: three")
        );
        assert_eq!(played.run().prompt.as_deref(), Some("one"));
        let turns = played.run().turns().unwrap().iter();
        let texts: Vec<&str> = turns.filter_map(|turn| turn.text.as_deref()).collect();
        assert_eq!(
            texts,
            [
                "one",
                "You said: one",
                "two",
                "You said: two",
                "three",
                "You said: three"
            ]
        );
    }
}
