use crate::gate::Gates;
use crate::gate::Scorecard;
use mcprove_trace::{AgentRun, AgentTrace};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing;

fn calls(names: &str) -> Vec<ToolCall> {
    names
        .split_whitespace()
        .map(|name| ToolCall {
            name: name.into(),
            ..ToolCall::default()
        })
        .collect()
}

fn between(min: impl Into<Option<u64>>, max: impl Into<Option<u64>>) -> Limit {
    Limit {
        min: min.into(),
        max: max.into(),
    }
}

fn on(tool: &str, limit: Limit) -> CallLimitsBlock {
    CallLimitsBlock {
        tools: Limits([(tool.to_owned(), limit)].into()),
        ..CallLimitsBlock::default()
    }
}

fn all(limit: Limit) -> CallLimitsBlock {
    CallLimitsBlock {
        total: Some(limit),
        ..CallLimitsBlock::default()
    }
}

#[test]
fn limits_are_kept_or_not() {
    let cases = [
        ("", CallLimitsBlock::default(), None),
        ("a a", on("a", between(None, 2)), None),
        (
            "a b a a",
            on("a", between(None, 2)),
            Some("`a` was called 3 times, and must be at most 2 (call 3 was the first too many)"),
        ),
        (
            "b",
            on("a", between(1, None)),
            Some("`a` was called 0 times, and must be at least 1"),
        ),
        (
            "a",
            on("a", between(2, 3)),
            Some("`a` was called 1 time, and must be 2 to 3"),
        ),
        (
            "a",
            on("a", between(None, 0)),
            Some("`a` was called 1 time, and must be at most 0 (call 0 was the first too many)"),
        ),
        ("a", on("a", between(1, 1)), None),
        (
            "a a",
            on("a", between(1, 1)),
            Some("`a` was called 2 times, and must be exactly 1 (call 1 was the first too many)"),
        ),
        ("a", on("a", between(None, None)), None),
        ("ab", on("a", between(None, 0)), None),
        (
            "delete_b x delete_a",
            on("delete_*", between(None, 1)),
            Some(
                "`delete_*` was called 2 times, and must be at most 1 (call 2 was the first too many)",
            ),
        ),
        ("a b", all(between(2, 2)), None),
        (
            "a b",
            all(between(None, 1)),
            Some(
                "all tools together were called 2 times, and must be at most 1 (call 1 was the first too many)",
            ),
        ),
        (
            "",
            all(between(1, None)),
            Some("all tools together were called 0 times, and must be at least 1"),
        ),
        ("a", all(between(None, u64::MAX)), None),
    ];
    for (names, block, expected) in cases {
        let report = check_call_limits(&calls(names), &block).unwrap();
        assert_eq!(report.passed, expected.is_none(), "{names} {block:?}");
        let words = report.violations.first().map(LimitViolation::describe);
        assert_eq!(
            words.map(|it| it.rendered()).as_deref(),
            expected,
            "{names} {block:?}"
        );
        assert_eq!(report.total_calls, calls(names).len() as u64);
    }
}

#[test]
fn a_limit_may_have_the_server_in_the_name() {
    let mut made = calls("pay pay pay look");
    for (call, server) in made.iter_mut().zip(["bank", "shop", "bank", "bank"]) {
        call.server = Some(server.into());
    }
    for (tool, times) in [
        ("pay", 3),
        ("bank__pay", 2),
        ("mcp__bank__pay", 2),
        ("bank__*", 3),
        ("shop__pay", 1),
        ("shop__look", 0),
        ("bank*", 0),
    ] {
        let exactly = on(tool, between(times, times));
        let report = check_call_limits(&made, &exactly).unwrap();
        assert!(report.passed, "{tool}: {:?}", report.violations);
    }
    made[0].server = None;
    let error = check_call_limits(&made, &on("bank__pay", between(None, 1))).unwrap_err();
    assert_eq!(
        error.message,
        "call 0, `pay`, cannot be judged: the trace does not have its server, and `bank__pay` asks for it"
    );
    assert!(
        check_call_limits(&made, &on("bank__look", between(1, 1)))
            .unwrap()
            .passed
    );
}

#[test]
fn what_nothing_can_keep_is_an_error() {
    let error = check_call_limits(&[], &on("a", between(2, 1))).unwrap_err();
    assert_eq!(
        error.message,
        "nothing can keep the limit of `a`: at least 2 and at most 1"
    );
    check_call_limits(&[], &all(between(2, 1))).unwrap_err();
}

fn scored(runs: &[&str], block: Option<CallLimitsBlock>) -> Scorecard {
    let trace = AgentTrace::new(
        runs.iter()
            .map(|names| AgentRun {
                tool_calls: calls(names),
                ..AgentRun::default()
            })
            .collect(),
    );
    let gates = block.map_or_else(Gates::default, |block| {
        Gates::default().with(&CallLimits, block)
    });
    testing::gated(&CallLimits, &trace, &gates).unwrap()
}

#[test]
fn each_run_is_held_to_the_limits() {
    let block = CallLimitsBlock {
        total: Some(between(None, 3)),
        ..on("a", between(1, 1))
    };
    let card = scored(&["a b", "a b a b"], Some(block));
    assert_eq!(card.run_value(0, VIOLATIONS), Some(&json!(0)));
    assert_eq!(card.run_value(0, PASSED), Some(&json!(1)));
    assert_eq!(card.run_value(1, VIOLATIONS), Some(&json!(2)));
    assert_eq!(card.run_value(1, PASSED), Some(&json!(0)));
    assert_eq!(card.run_value(1, TOTAL_CALLS), Some(&json!(4)));
    assert_eq!(card.found.failures.len(), 1);
    assert_eq!(card.found.failures[0].run, Some(1));
    assert_eq!(card.found.failures[0].actual, json!(2));
    assert_eq!(
        card.found.failures[0].message,
        "all tools together were called 4 times, and must be at most 3 (call 3 was the first too \
         many); `a` was called 2 times, and must be exactly 1 (call 2 was the first too many)"
    );
    let details = &card.runs[1].details["call_limits"]["violations"];
    assert_eq!(details[1]["first_too_many"], 2);
    assert_eq!(
        card.runs[1].found,
        [
            "All tools together were called 4 times, and must be at most 3 (call 3 was the first too many).",
            "`a` was called 2 times, and must be exactly 1 (call 2 was the first too many).",
        ]
    );
}

#[test]
fn without_a_block_calls_are_only_counted() {
    let card = scored(&["a b"], None);
    assert_eq!(card.run_value(0, TOTAL_CALLS), Some(&json!(2)));
    assert_eq!(card.run_value(0, VIOLATIONS), None);
    assert_eq!(card.run_value(0, PASSED), None);
}

proptest! {
    #[test]
    fn the_order_of_calls_changes_no_count(
        names in prop::collection::vec("[a-c]", 0..12),
        max in 0_u64..6,
        min in 0_u64..6,
    ) {
        let block = CallLimitsBlock {
            total: Some(between(None, max)),
            ..on("a", between(min.min(max), max))
        };
        let report = check_call_limits(&calls(&names.join(" ")), &block).unwrap();
        let reversed: Vec<String> = names.into_iter().rev().collect();
        let other = check_call_limits(&calls(&reversed.join(" ")), &block).unwrap();
        prop_assert_eq!(report.passed, other.passed);
        prop_assert_eq!(report.violations.len(), other.violations.len());
        for violation in &report.violations {
            let is_over = violation.calls > max;
            prop_assert_eq!(violation.first_too_many.is_some(), is_over);
        }
    }
}
