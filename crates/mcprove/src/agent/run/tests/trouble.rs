//! Providers that fail, models that talk nonsense, and ways that break.

use mcprove_score::trace::StopReason;
use serde_json::Value;

use super::support::{BOTH, injecting, play, test};
use crate::agent::run::RunFailure;

#[tokio::test]
async fn a_provider_that_fails_at_first_is_asked_again_and_the_trace_says_so() {
    for provider in BOTH {
        let gates = "expect: [{ target: conversation.retries.length, matcher: { exact: 0 } }]\n";
        let plan = injecting(&[], gates);
        let honest = play("honest", provider, &plan).await;
        assert_eq!(honest.failed(), Vec::<String>::new());
        let played = play("throttled", provider, &plan).await;
        assert_eq!(played.stop(), StopReason::Completed);
        let conversation = played.run().conversation.as_ref().unwrap();
        let retries = conversation.retries.as_ref().unwrap();
        let told: Vec<(usize, Option<u16>)> = retries
            .iter()
            .map(|retry| (retry.answer, retry.status))
            .collect();
        assert_eq!(
            told,
            [
                (0, Some(429)),
                (0, Some(500)),
                (1, Some(429)),
                (1, Some(500))
            ]
        );
        assert_eq!(retries[0].message, "overloaded_error: come back later");
        assert_eq!(retries[0].waited_ms, Some(0.0));
        assert_eq!(played.failed(), ["conversation.retries.length"]);
        assert_eq!(played.finished.failure, None);
    }
}

#[tokio::test]
async fn a_provider_that_never_has_time_is_given_up() {
    let played = play("overloaded", BOTH[0], &test()).await;
    assert_eq!(played.stop(), StopReason::Error);
    assert_eq!(played.model.asked().len(), 5);
    let failure = played.finished.failure.clone().unwrap();
    assert!(
        matches!(failure, RunFailure::Unanswered { tries: 5, .. }),
        "{failure}"
    );
    assert!(failure.to_string().contains("HTTP 529"), "{failure}");
    let conversation = played.run().conversation.as_ref().unwrap();
    assert_eq!(
        conversation.error.as_deref(),
        Some(failure.to_string().as_str())
    );
    assert_eq!(conversation.retries.as_ref().unwrap().len(), 4);
}

#[tokio::test]
async fn garbage_is_told_and_not_asked_for_again() {
    for provider in BOTH {
        let played = play("garbage", provider, &test()).await;
        assert_eq!(played.stop(), StopReason::Error);
        assert_eq!(played.model.asked().len(), 1);
        let failure = played.finished.failure.clone().unwrap();
        assert!(matches!(failure, RunFailure::NotUnderstood(_)), "{failure}");
        assert!(failure.hint().contains("base_url"));
    }
}

#[tokio::test]
async fn arguments_that_are_none_are_given_back_to_the_model() {
    for provider in BOTH {
        let played = play("mumbler", provider, &test()).await;
        assert_eq!(played.stop(), StopReason::Completed);
        let run = played.run();
        assert_eq!(run.tool_calls.len(), 2);
        assert!(matches!(run.tool_calls[0].args.value(), Value::String(_)));
        assert_eq!(run.tool_results[0].is_error, Some(true));
        assert!(played.result_text(0).contains("Invalid arguments"));
        assert_eq!(run.tool_results[1].is_error, Some(false));
        assert_eq!(played.reached, ["search"], "the first was never made");
    }
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_an_error_for_the_model() {
    for provider in BOTH {
        let plan = injecting(&["hang"], "permissions: { allow: [search] }\n");
        let played = play("dreamer", provider, &plan).await;
        let run = played.run();
        assert_eq!(run.tool_calls[0].name, "dig");
        assert_eq!(run.tool_calls[0].server.as_deref(), Some("nowhere"));
        assert!(
            played
                .result_text(0)
                .contains("Unknown tool: nowhere__dig. The tools are: api__search")
        );
        assert!(
            run.faults.is_empty(),
            "nothing was called that a fault could strike"
        );
        assert_eq!(played.failed(), ["permissions.violations"]);
    }
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_not_made() {
    for provider in BOTH {
        let played = play("cut_short", provider, &test()).await;
        assert_eq!(played.stop(), StopReason::Completed);
        assert_eq!(played.reached, ["search"]);
        assert_eq!(played.run().tool_results[1].is_error, Some(true));
        assert!(played.result_text(1).contains("cut off"));
    }
}
