//! Agents whose calls meet faults, in virtual time, and what the gates say of them.

use std::time::{Duration, Instant};

use mcprove_trace::{RealAnswer, StopReason};
use serde_json::json;

use super::support::{BOTH, injecting, play};

const RECOVERY: &str =
    "recovery: { max_detection_ms: 3000, max_recovery_ms: 5000, require_clean_timeout: true }\n";

#[tokio::test]
async fn one_hang_takes_one_detection() {
    for &provider in BOTH {
        for script in ["recoverer", "surrenderer"] {
            let plan = injecting(&["hang,tool=search,name=hung-search"], RECOVERY);
            let played = play(script, provider, &plan).await;
            assert_eq!(played.failed(), Vec::<String>::new());
            assert_eq!(played.target("recovery.time_to_detection_ms"), 3000);
            assert_eq!(played.target("recovery.time_to_recovery_ms"), 3000);
            assert_eq!(played.target("recovery.clean_timeout"), 1);
            let mark = &played.run().faults[0];
            assert_eq!(
                (mark.call_index, mark.fault.as_deref()),
                (0, Some("hung-search"))
            );
            assert!(
                !played.reached.contains(&"search".to_owned()),
                "never dispatched"
            );
            assert_eq!(played.run().tool_results[0].is_error, Some(true));
            assert!(played.result_text(0).contains("timed out"));
            let conversation = played.run().conversation.as_ref().unwrap();
            assert!(conversation.duration_ms.unwrap() >= 3000.0);
        }
    }
}

#[tokio::test]
async fn nothing_sleeps_however_long_a_detection_is() {
    let gates = "recovery: { max_detection_ms: 3600000 }\n";
    let mut plan = injecting(&["hang,tool=search"], gates);
    plan.budget.time = Duration::from_hours(2);
    let began = Instant::now();
    let played = play("surrenderer", BOTH[0], &plan).await;
    assert!(began.elapsed() < Duration::from_mins(30));
    assert_eq!(played.target("recovery.time_to_recovery_ms"), 3_600_000);
}

#[tokio::test]
async fn two_hangs_take_too_long() {
    for &provider in BOTH {
        let plan = injecting(&["hang,tool=search"], RECOVERY);
        let played = play("stubborn", provider, &plan).await;
        assert_eq!(played.run().faults.len(), 2);
        assert_eq!(played.target("recovery.time_to_recovery_ms"), 6000);
        assert_eq!(played.target("recovery.recovered"), 1);
        assert_eq!(played.failed(), ["recovery.time_to_recovery_ms"]);
    }
}

#[tokio::test]
async fn a_looper_does_not_recover() {
    for &provider in BOTH {
        let mut plan = injecting(&["hang,tool=search"], RECOVERY);
        plan.budget.turns = 4;
        let played = play("looper", provider, &plan).await;
        assert_eq!(played.stop(), StopReason::TurnBudget);
        assert_eq!(played.target("recovery.recovered"), 0);
        assert!(played.failed().contains(&"recovery.recovered".to_owned()));
    }
}

#[tokio::test]
async fn a_server_that_comes_back_is_met_again() {
    for &provider in BOTH {
        let plan = injecting(&["recover_after:1,tool=search"], RECOVERY);
        let played = play("stubborn", provider, &plan).await;
        let run = played.run();
        assert_eq!(run.faults.len(), 1);
        assert_eq!(run.faults[0].failures, Some(1));
        assert_eq!(run.tool_results[1].is_error, Some(false));
        assert_eq!(played.target("recovery.time_to_recovery_ms"), 3000);
        assert_eq!(played.failed(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_slow_answer_is_late_only_beyond_the_detection() {
    let plan = injecting(&["slow:2999,tool=search"], RECOVERY);
    let played = play("surrenderer", BOTH[0], &plan).await;
    assert_eq!(played.reached, ["search"]);
    assert_eq!(played.run().faults[0].delay_ms, Some(2999));
    assert_eq!(played.run().tool_results[0].is_error, Some(false));
    assert_eq!(played.failed(), Vec::<String>::new());
    let conversation = played.run().conversation.as_ref().unwrap();
    assert!(conversation.duration_ms.unwrap() >= 2999.0);
    let plan = injecting(&["slow:3000,tool=search"], RECOVERY);
    let played = play("surrenderer", BOTH[0], &plan).await;
    assert!(played.reached.is_empty());
    assert_eq!(played.target("recovery.time_to_detection_ms"), 3000);
    // Without a gate an agent waits half a minute.
    let plan = injecting(&["slow:29999,tool=search"], "");
    let played = play("surrenderer", BOTH[0], &plan).await;
    assert_eq!(played.run().tool_results[0].is_error, Some(false));
    let plan = injecting(&["slow:30000,tool=search"], "");
    let played = play("surrenderer", BOTH[0], &plan).await;
    assert_eq!(played.run().tool_results[0].is_error, Some(true));
}

#[tokio::test]
async fn a_lost_write_that_is_tried_again_is_made_twice_or_once() {
    for &provider in BOTH {
        let plan = injecting(
            &["lose_reply,tool=create_issue,calls=1"],
            "duplicate_writes: {}\n",
        );
        let played = play("retrier", provider, &plan).await;
        assert_eq!(played.reached, ["create_issue", "create_issue"]);
        assert_eq!(
            played.run().faults[0].real_answer,
            Some(RealAnswer::Success)
        );
        assert_eq!(played.target("duplicate_writes.confirmed"), 1);
        assert_eq!(played.failed(), ["duplicate_writes.count"]);

        let plan = injecting(
            &["lose_request,tool=create_issue,calls=1"],
            "duplicate_writes: {}\n",
        );
        let played = play("retrier", provider, &plan).await;
        assert_eq!(
            played.reached,
            ["create_issue"],
            "the first was never executed"
        );
        assert_eq!(played.target("duplicate_writes.count"), 0);
        assert_eq!(played.target("duplicate_writes.lost"), 0);
        assert_eq!(played.failed(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn the_first_fault_in_order_strikes_and_calls_count_arrivals() {
    let plan = injecting(&["tool_error,tool=search,calls=2-3", "error:-32005"], "");
    let mut plan = plan;
    plan.budget.turns = 4;
    let played = play("looper", BOTH[0], &plan).await;
    let kinds = played.run().faults.iter().map(|mark| mark.kind.name());
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        ["error", "tool_error", "tool_error", "error"]
    );
    assert!(
        played.result_text(0).contains("-32005"),
        "{}",
        played.result_text(0)
    );
    assert!(played.reached.is_empty());
}

#[tokio::test]
async fn chance_is_the_same_every_time() {
    let mut plan = injecting(&["tool_error,rate=0.5,seed=3"], "");
    plan.budget.turns = 10;
    let struck = |played: &super::support::Played| -> Vec<usize> {
        let marks = played.run().faults.iter();
        marks.map(|mark| mark.call_index).collect()
    };
    let first = struck(&play("looper", BOTH[0], &plan).await);
    let second = struck(&play("looper", BOTH[1], &plan).await);
    assert_eq!(first, second);
    assert!(!first.is_empty() && first.len() < 10, "{first:?}");
}

#[tokio::test]
async fn a_fault_that_nobody_meets_leaves_no_mark() {
    let plan = injecting(&["hang,server=other"], RECOVERY);
    let played = play("surrenderer", BOTH[0], &plan).await;
    assert!(played.run().faults.is_empty());
    assert_eq!(played.failed(), Vec::<String>::new());
    assert_eq!(json!(played.score().targets["recovery.recovered"]), 1);
}
