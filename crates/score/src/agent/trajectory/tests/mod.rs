mod modes;
mod properties;
mod shapes;
mod unknown;

use crate::gate::Gates;
use mcprove_trace::{AgentRun, AgentTrace};
use serde_json::json;

use super::*;
use crate::testing;

/// Calls from words: `a` is the tool a, `a1` the tool a with the argument `{"n": 1}`, and `x/a1` the
/// same on the server x; the others are on the server z.
fn calls(text: &str) -> Vec<ToolCall> {
    text.split_whitespace().map(call).collect()
}

fn call(word: &str) -> ToolCall {
    let (server, name, number) = parts(word);
    ToolCall {
        name: name.into(),
        server: Some(server.unwrap_or("z").into()),
        args: number.map_or(json!({}), |n| json!({ "n": n })).into(),
        ..ToolCall::default()
    }
}

/// Expected calls from words: `a` takes any arguments, `a1` the argument `{"n": 1}`, `a<5` any below 5.
fn expected(text: &str) -> Vec<ExpectedCall> {
    text.split_whitespace().map(expected_call).collect()
}

fn expected_call(word: &str) -> ExpectedCall {
    if let Some((name, limit)) = word.split_once('<') {
        let limit: i64 = limit.parse().unwrap();
        let schema = json!({ "properties": { "n": { "exclusiveMaximum": limit } } });
        return ExpectedCall {
            name: name.into(),
            server: None,
            args: ArgumentShape::Schema(schema),
        };
    }
    let (server, name, number) = parts(word);
    ExpectedCall {
        name: name.into(),
        server: server.map(Into::into),
        args: number.map_or(ArgumentShape::Any, |n| {
            ArgumentShape::Subset(json!({ "n": n }))
        }),
    }
}

fn parts(word: &str) -> (Option<&str>, &str, Option<i64>) {
    let (server, word) = match word.split_once('/') {
        Some((server, word)) => (Some(server), word),
        None => (None, word),
    };
    let digits = word.find(|c: char| c.is_ascii_digit());
    let (name, number) = word.split_at(digits.unwrap_or(word.len()));
    (server, name, number.parse().ok())
}

fn block(mode: Mode, reference: &str) -> TrajectoryBlock {
    TrajectoryBlock {
        mode,
        calls: expected(reference),
    }
}

fn report(mode: Mode, reference: &str, recorded: &str) -> TrajectoryReport {
    validate_trace(&block(mode, reference), &calls(recorded)).unwrap()
}

fn scored(runs: &[&str], gates: &Gates) -> Result<Scorecard, ScoreError> {
    let runs = runs.iter().map(|text| AgentRun {
        tool_calls: calls(text),
        ..AgentRun::default()
    });
    let trace = AgentTrace::new(runs.collect());
    testing::gated(&Trajectory, &trace, gates)
}

#[test]
fn every_run_is_gated() {
    let gates = Gates::default().with(&Trajectory, block(Mode::Strict, "a b1"));
    let card = scored(&["a b1", "a b2", "b"], &gates).unwrap();
    assert_eq!(card.run_value(0, PASSED), Some(&json!(1)));
    assert_eq!(card.run_value(0, MISMATCH_COUNT), Some(&json!(0)));
    assert_eq!(card.run_value(1, PASSED), Some(&json!(0)));
    assert_eq!(card.run_value(2, MISMATCH_COUNT), Some(&json!(2)));
    let messages: Vec<(Option<usize>, String)> = card
        .found
        .failures
        .iter()
        .map(|failure| (failure.run, failure.message.rendered()))
        .collect();
    assert_eq!(
        messages,
        [
            (
                Some(1),
                "in mode strict, call 1 is not the expected `b`: its arguments differ: at .n: expected 1, got 2".to_owned()
            ),
            (
                Some(2),
                "in mode strict, 2 mismatches, the first: call 0 is not the expected `a`: it is `b`".to_owned()
            ),
        ]
    );
    assert!(card.runs[0].details.is_empty());
    let details = &card.runs[1].details["trajectory"];
    assert_eq!(details["mismatches"][0]["recorded_index"], 1);
    assert_eq!(details["mismatch_count"], 1);
    assert_eq!(
        card.runs[1].found,
        ["Call 1 is not the expected `b`: its arguments differ: at .n: expected 1, got 2."]
    );
    assert_eq!(card.runs[2].found.len(), 2);
    let many = scored(&["", &"b ".repeat(30)], &gates).unwrap();
    assert_eq!(many.runs[1].found.len(), 6);
    assert_eq!(many.runs[1].found[5], "And 25 more differences.");
}

#[test]
fn without_the_block_nothing_is_told() {
    let card = scored(&["a"], &Gates::default()).unwrap();
    assert_eq!(card.run_value(0, PASSED), None);
    assert!(card.found.failures.is_empty());
    assert!(Gates::default().get("trajectory").is_none());
}

#[test]
fn a_malformed_schema_is_an_error_not_a_failure() {
    let mut malformed = block(Mode::Subsequence, "a b");
    malformed.calls[1].args = ArgumentShape::Schema(json!({ "type": "objct" }));
    let gates = Gates::default().with(&Trajectory, malformed);
    for runs in [&["a b"][..], &[""], &[]] {
        let error = scored(runs, &gates).unwrap_err();
        assert_eq!(error.target.as_deref(), Some(PASSED));
        let message = error.message;
        assert!(
            message
                .rendered()
                .starts_with("the arguments of expected call 1, `b`, cannot be compared: "),
            "{message:?}"
        );
        assert!(!error.hint.rendered().is_empty());
    }
}
