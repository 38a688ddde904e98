use crate::gate::Gates;
use crate::gate::Scorecard;
use crate::testing;
use mcprove_trace::{AgentTrace, ToolCall, ToolResult};
use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// `a+` is a success of the tool `a`, `a-` a failure, `a?` a call of which nothing is told;
/// `x/a+` is on the server `x`.
fn run(text: &str) -> AgentRun {
    let mut run = AgentRun::default();
    for (call_index, word) in text.split_whitespace().enumerate() {
        let (tool, outcome) = word.split_at(word.len() - 1);
        let (server, name) = match tool.split_once('/') {
            Some((server, name)) => (Some(server.to_owned()), name),
            None => (None, tool),
        };
        run.tool_calls.push(ToolCall {
            name: name.into(),
            server,
            ..ToolCall::default()
        });
        if outcome != "?" {
            run.tool_results.push(ToolResult {
                call_index,
                is_error: Some(outcome == "-"),
                ..ToolResult::default()
            });
        }
    }
    run
}

#[test]
fn failed_calls_are_made_good_by_the_same_tool_later() {
    let cases = [
        ("", Some(1.0)),
        ("a+", Some(1.0)),
        ("a-", Some(0.0)),
        ("a- a+", Some(1.0)),
        ("a+ a-", Some(0.0)),
        ("a- b+", Some(0.0)),
        ("a- b+ a- c+ a+", Some(1.0)),
        ("a- a+ b-", Some(0.5)),
        ("x/a- y/a+", Some(0.0)),
        ("x/a- a+", Some(0.0)),
        ("x/a- x/a+", Some(1.0)),
        ("a- a?", None),
        ("a? b+", None),
        ("a- b? a+", None),
        ("a? b?", None),
    ];
    for (text, expected) in cases {
        assert_eq!(
            score_orchestration(&run(text)).error_recovery,
            expected,
            "{text}"
        );
    }
}

fn gated(runs: &[&str]) -> Result<Scorecard, ScoreError> {
    let trace = AgentTrace::new(runs.iter().map(|text| run(text)).collect());
    let gates = Gates::default().with(&Orchestration, ());
    testing::gated(&Orchestration, &trace, &gates)
}

#[test]
fn the_default_gate_asks_for_all() {
    let card = gated(&["a- a+", "a- b- a+ b+ c- x/a-"]).unwrap();
    assert_eq!(card.run_value(0, ERROR_RECOVERY), Some(&json!(1.0)));
    assert_eq!(card.run_value(1, ERROR_RECOVERY), Some(&json!(0.5)));
    let [failure] = card.found.failures.as_slice() else {
        panic!("{:?}", card.found.failures);
    };
    assert_eq!((failure.run, &failure.actual), (Some(1), &json!(0.5)));
    assert_eq!(
        failure.with_hint(),
        "2 of 4 failed calls were not followed by a success: calls 4 and 5; look at what the agent does after call 4 (`c`) fails"
    );
    let card = gated(&["x/a-"]).unwrap();
    assert_eq!(
        card.found.failures[0].with_hint(),
        "1 of 1 failed call was not followed by a success: call 0; look at what the agent does after call 0 (`a` on `x`) fails"
    );
}

#[test]
fn what_is_not_told_is_said() {
    let card = gated(&["a+", "b- a? a? b+", "c-"]).unwrap();
    let [error] = card.found.errors.as_slice() else {
        panic!("{:?}", card.found.errors);
    };
    assert_eq!(error.run, Some(1));
    assert_eq!(
        error.message,
        "the trace does not say whether calls 1 and 2 failed; the first is `a`"
    );
    assert_eq!(card.found.failures.len(), 1, "the other runs are judged");
    assert_eq!(
        card.runs[2].found,
        ["Call 0, `c`, failed and was not followed by a success."]
    );
    assert_eq!(
        card.runs[2].details["orchestration"]["unrecovered"],
        json!([0])
    );
    let trace = AgentTrace::new(vec![run("a?")]);
    let card = testing::gated(&Orchestration, &trace, &Gates::default()).unwrap();
    assert_eq!(card.run_value(0, ERROR_RECOVERY), Some(&Value::Null));
    assert_eq!(
        card.found.notes,
        [
            "orchestration.error_recovery is unknown for run 0: the trace does not say which calls failed."
        ]
    );
}

proptest! {
    #[test]
    fn in_range_and_a_success_in_the_end_never_hurts(
        words in prop::collection::vec("[ab][+?-]", 0..30),
        indices in prop::collection::vec(any::<usize>(), 0..5),
    ) {
        let mut recorded = run(&words.join(" "));
        // Results of calls that do not exist are ignored.
        let strays = indices.into_iter().map(|index| ToolResult {
            call_index: index.saturating_add(words.len()),
            is_error: Some(true),
            ..ToolResult::default()
        });
        recorded.tool_results.extend(strays);
        let before = score_orchestration(&recorded);
        prop_assert!(before.error_recovery.is_none_or(|value| (0.0..=1.0).contains(&value)));
        prop_assert_eq!(before.errored - before.recovered, before.unrecovered.len() as u64);
        let after = score_orchestration(&run(&format!("{} a+ b+", words.join(" "))));
        let is_known = before.unknown.is_empty();
        prop_assert_eq!(after.error_recovery, is_known.then_some(1.0));
    }
}
