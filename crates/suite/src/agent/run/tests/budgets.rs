//! Every budget ends a run with its own reason, and with all that happened until then.

use std::time::Duration;

use mcprove_trace::StopReason;

use super::support::{BOTH, injecting, play, test};

#[tokio::test]
async fn tokens_are_a_budget() {
    for &provider in BOTH {
        let mut plan = test();
        // Each answer takes 15.
        for (tokens, stop) in [
            (30, StopReason::Completed),
            (29, StopReason::TokenBudget),
            (15, StopReason::TokenBudget),
        ] {
            plan.budget.tokens = Some(tokens);
            let played = play("honest", provider, &plan).await;
            assert_eq!(played.stop(), stop, "{tokens}");
            assert_eq!(played.run().tool_calls.len(), 1);
        }
        plan.budget.tokens = Some(14);
        let played = play("honest", provider, &plan).await;
        assert_eq!(played.stop(), StopReason::TokenBudget);
        assert!(
            played.reached.is_empty(),
            "it is over before the call is made"
        );
        assert_eq!(played.run().tool_calls.len(), 1, "but it was wanted");
        let told = played.result_text(0);
        assert!(told.contains("used up its budget of tokens"), "{told}");
    }
}

#[tokio::test]
async fn calls_are_a_budget() {
    for &provider in BOTH {
        let mut plan = test();
        plan.budget.tool_calls = Some(2);
        let played = play("parallel", provider, &plan).await;
        assert_eq!(played.stop(), StopReason::ToolCallBudget);
        assert_eq!(played.reached.len(), 2);
        // What it wanted is judged too, whatever came of it.
        let run = played.run();
        assert_eq!((run.tool_calls.len(), run.tool_results.len()), (3, 3));
        let errors = run.tool_results.iter().map(|result| result.is_error);
        assert!(errors.eq([false, false, true].map(Some)), "{run:?}");
        let told = played.result_text(2);
        assert!(told.contains("used up its budget of tool calls"), "{told}");
        plan.budget.tool_calls = Some(3);
        let played = play("parallel", provider, &plan).await;
        assert_eq!(played.stop(), StopReason::Completed);
    }
}

#[tokio::test]
async fn virtual_time_is_a_budget_too() {
    for &provider in BOTH {
        let mut plan = injecting(&["hang"], "recovery: { max_detection_ms: 3000 }\n");
        plan.budget.time = Duration::from_millis(6500);
        let played = play("looper", provider, &plan).await;
        assert_eq!(played.stop(), StopReason::TimeBudget);
        assert_eq!(played.run().tool_calls.len(), 3);
        assert_eq!(played.target("recovery.recovered"), 0);
    }
}

#[tokio::test]
async fn turns_are_counted_over_all_prompts() {
    let mut plan = test();
    plan.prompts = ["one", "two", "three"].map(str::to_owned).to_vec();
    plan.budget.turns = 2;
    let played = play("talker", BOTH[0], &plan).await;
    assert_eq!(played.stop(), StopReason::TurnBudget);
    assert_eq!(played.model.asked().len(), 2);
}

#[tokio::test]
async fn tokens_that_are_not_told_are_unknown() {
    for &provider in BOTH {
        let played = play("uncounted", provider, &test()).await;
        assert_eq!(played.stop(), StopReason::Completed);
        assert_eq!(played.run().conversation.as_ref().unwrap().tokens, None);
    }
}
