//! The targets on the card, and the default gate.

use super::*;
use crate::agent::Scope;
use crate::gate::Gates;
use serde_json::Value;

#[test]
fn targets_over_the_runs() {
    // Weakest scores 1, 0.5, 0.25, 0.25.
    let runs = vec![
        session("a:1 a:2", &[1, 1], 0),
        session("a a", &[1, 1], 0),
        session("a", &[1, 1], 8_000),
        session("a", &[1, 1], 8_000),
    ];
    let card = scored(runs, &Gates::default()).unwrap();
    let number = |target: &str| card.value(target).and_then(Value::as_f64).unwrap();
    assert!(close(number(SCORE), 0.5));
    assert!(close(number(WEAKEST), 0.25));
    assert!(close(number(VARIANCE), 0.093_75));
    assert_eq!(card.run_value(1, REDUNDANCY), Some(&json!(0.5)));
    assert_eq!(card.run_value(1, WEAKEST), Some(&json!(0.5)));
    assert_eq!(card.value(DIVERGENCE), Some(&json!(1)));
    assert!(card.found.notes.is_empty(), "{:?}", card.found.notes);
}

#[test]
fn a_single_run_has_no_targets_of_pairs_and_no_block() {
    let card = scored(vec![run("a a")], &Gates::default()).unwrap();
    assert_eq!(card.value(SCORE), Some(&json!(0.5)));
    assert_eq!(card.value(VARIANCE), Some(&json!(0.0)));
    for target in [SIMILARITY, ARGUMENTS, DIVERGENCE] {
        assert_eq!(card.value(target), None, "{target}");
    }
    let error = scored(vec![run("a a")], &with_block()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "stability: steadiness needs at least two runs, and the trace has 1"
    );
}

#[test]
fn what_is_unknown_is_said() {
    let card = scored(
        vec![run("a"), session("a", &[1, 1], 1), run("a")],
        &Gates::default(),
    );
    let card = card.unwrap();
    assert_eq!(card.run_value(0, RESPONSES), Some(&Value::Null));
    assert_eq!(
        card.found.notes,
        [
            "stability.response_consistency is unknown for runs 0 and 2, and left out of the weakest score: the trace does not have the turns.",
            "stability.cost_per_progress is unknown for runs 0 and 2, and left out of the weakest score: the trace does not have the tokens, or not all arguments.",
        ]
    );
}

#[test]
fn the_default_gate_looks_past_the_tools_of_few_calls() {
    let two_tools = session("get_weather get_time", &[20, 20], 100);
    let card = scored(vec![two_tools.clone(), two_tools], &with_block()).unwrap();
    assert!(card.found.failures.is_empty(), "{:?}", card.found.failures);
    assert_eq!(card.value(WEAKEST), Some(&json!(0.0)), "the formula holds");
    assert_eq!(
        card.found.notes,
        [
            "The default gate of stability ignores stability.tool_usage_stability of runs 0 and 1: fewer than 4 calls say nothing about it. stability.weakest_score still counts it."
        ]
    );
    let four_tools = session("a b c d", &[20, 20], 100);
    let card = scored(vec![four_tools.clone(), four_tools], &with_block()).unwrap();
    assert_eq!(card.found.failures.len(), 2);
    assert!(card.found.notes.is_empty());
}

#[test]
fn failures_say_where_to_look() {
    let cases = [
        (
            session("a b c d e", &[9, 9], 0),
            "tool_usage_stability is 0, and at least 0.5 is needed: 5 calls use 5 different tools; look at whether the agent tries one tool after the other",
        ),
        (
            session("a", &[1, 1, 4_000], 0),
            "response_consistency is 0, and at least 0.5 is needed: the assistant's turns are between 1 and 4,000 characters long; look at the longest and the shortest",
        ),
        (
            session("a:1 b:1 b:1 b:1 b:1", &[9, 9], 0),
            "redundancy is 0.4, and at least 0.5 is needed: only 2 of 5 calls are different; call 1 (`b`) is made 4 times; look at what call 1 returns",
        ),
        (
            session("a:1 a:2", &[9, 9], 50_000),
            "cost_per_progress is 0.08, and at least 0.5 is needed: 50,000 tokens for 2 different calls; look at what the agent does between its calls",
        ),
    ];
    for (recorded, message) in cases {
        let card = scored(vec![run(""), recorded], &with_block()).unwrap();
        let [failure] = card.found.failures.as_slice() else {
            panic!("{message}: {:?}", card.found.failures);
        };
        assert_eq!(failure.with_hint(), message);
        assert_eq!(failure.target, WEAKEST);
        assert_eq!(failure.run, Some(1));
        assert_eq!(failure.expected, json!({ "minimum": 0.5 }));
    }
}

#[test]
fn every_target_has_its_scope() {
    let card = scored(vec![session("a", &[1, 1], 1); 2], &Gates::default()).unwrap();
    for target in Stability::ABOUT.targets {
        let is_set = match target.scope {
            Scope::Overall => card.value(target.name).is_some(),
            _ => card.run_value(1, target.name).is_some(),
        };
        assert!(is_set, "{}", target.name);
    }
}
