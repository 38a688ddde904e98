use mcprove_trace::AgentRun;

use super::super::{Gates, score};
use super::*;
use crate::agent::METRICS;
use crate::gate::{Matcher, ScoreReport};

fn judged(runs: Value, target: &str, matcher: &Value) -> ScoreReport {
    let runs: Vec<AgentRun> = serde_json::from_value(runs).unwrap();
    let expectation = Expectation {
        target: target.into(),
        matcher: Matcher::from_value(matcher).unwrap(),
    };
    let gates = Gates::of(vec![expectation]);
    score(&AgentTrace::new(runs), &gates)
}

/// `+` holds, `-` does not, `?` cannot be judged.
fn sign(report: &ScoreReport) -> char {
    match (report.errors.is_empty(), report.failures.is_empty()) {
        (false, _) => '?',
        (true, false) => '-',
        (true, true) => '+',
    }
}

#[test]
fn what_a_matcher_is_not_about_is_never_a_pass() {
    let names = "tool_calls[*].name";
    let amounts = "tool_calls[*].args.amount";
    let runs = json!([{
        "tool_calls": [
            {"name": "search", "args": {"amount": 5000}},
            {"name": "refund", "args": {"amount": 10}},
        ],
        "final_response": "Done.",
    }]);
    for (target, matcher, expected) in [
        (names, json!({"not": {"contains": "refund"}}), '-'),
        (names, json!({"not": {"regex": "^refund$"}}), '-'),
        (names, json!({"not": {"starts_with": "ref"}}), '-'),
        (names, json!({"not": {"starts_with": "del"}}), '+'),
        (names, json!({"regex": "^sea"}), '+'),
        (names, json!({"not": {"exact": "refund"}}), '?'),
        (names, json!({"not": {"one_of": ["refund"]}}), '?'),
        (names, json!({"not": {"subset": "refund"}}), '?'),
        (names, json!({"exact": "refund"}), '-'),
        (
            "tool_calls[1].args.amount",
            json!({"not": {"exact": "all"}}),
            '+',
        ),
        (
            names,
            json!({"not": {"any_of": [{"exact": "refund"}]}}),
            '?',
        ),
        (
            names,
            json!({"any_of": [{"exact": "x"}, {"contains": "refund"}]}),
            '+',
        ),
        (names, json!({"schema": {"pattern": "^refund"}}), '?'),
        (
            names,
            json!({"schema": {"items": {"pattern": "^[a-z]+$"}}}),
            '+',
        ),
        (amounts, json!({"schema": {"maximum": 100}}), '?'),
        (amounts, json!({"not": {"schema": {"maximum": 100}}}), '?'),
        (amounts, json!({"schema": {"items": {"maximum": 100}}}), '-'),
        (amounts, json!({"not": {"regex": "5"}}), '?'),
        ("final_response", json!({"schema": {"maximum": 100}}), '?'),
        ("final_response", json!({"not": {"exact": null}}), '+'),
        ("tool_calls", json!({"not": {"contains": "refund"}}), '?'),
        (
            "tool_calls",
            json!({"not": {"contains": {"name": "refund"}}}),
            '-',
        ),
        (
            "tool_calls.length",
            json!({"schema": {"maxLength": 1}}),
            '?',
        ),
        (
            "tool_calls[*].nam",
            json!({"not": {"contains": "refund"}}),
            '?',
        ),
        (
            "tool_results[*].is_error",
            json!({"not": {"contains": true}}),
            '?',
        ),
        ("tool_results.length", json!({"exact": 0}), '?'),
        ("passed", json!({"not": {"exact": false}}), '?'),
    ] {
        let report = judged(runs.clone(), target, &matcher);
        assert_eq!(sign(&report), expected, "{target} {matcher}");
        assert_eq!(report.passed, expected == '+');
    }
}

#[test]
fn targets_are_found_in_either_spelling_and_with_a_path() {
    let runs = json!([{"tool_calls": [], "passed": true}, {"tool_calls": [], "passed": false}]);
    for (target, matcher, expected) in [
        ("reliability.decay_curve", json!({"exact": [100, 25]}), '+'),
        (
            "reliability.decay_curve[1]",
            json!({"schema": {"minimum": 20}}),
            '+',
        ),
        (
            "reliability.decay-curve[1]",
            json!({"schema": {"minimum": 90}}),
            '-',
        ),
        (
            "reliability.decay_curve[2]",
            json!({"schema": {"minimum": 90}}),
            '?',
        ),
        ("reliability.decay_curve.length", json!({"exact": 2}), '+'),
        (
            "reliability.decay_curve",
            json!({"schema": {"minimum": 90}}),
            '?',
        ),
        ("reliability.pass-at-k", json!({"exact": 100}), '+'),
        ("reliability.pass_at_q", json!({"exact": 100}), '?'),
        ("golden_path.penalty", json!({"exact": 0}), '?'),
        ("orchestration.error_recovery", json!({"exact": 1}), '+'),
    ] {
        let report = judged(runs.clone(), target, &matcher);
        assert_eq!(sign(&report), expected, "{target} {matcher}: {report:?}");
    }
}

#[test]
fn a_property_of_all_runs_needs_enough_of_them() {
    let run = json!({"tool_calls": [], "final_response": "Done."});
    let matcher = json!({"schema": {"maximum": 0.05}});
    for (runs, expected) in [(json!([run]), '?'), (json!([run, run]), '+')] {
        let report = judged(runs, "stability.variance", &matcher);
        assert_eq!(sign(&report), expected, "{report:?}");
    }
}

#[test]
fn one_error_hides_nothing() {
    let runs: Vec<AgentRun> =
        serde_json::from_value(json!([{"tool_calls": [{"name": "refund"}]}])).unwrap();
    let expectation = |target: &str, matcher: Value| Expectation {
        target: target.into(),
        matcher: Matcher::from_value(&matcher).unwrap(),
    };
    let gates = Gates::of(vec![
        expectation("tool_calls[*].nme", json!({"contains": "x"})),
        expectation("tool_calls.length", json!({"exact": 0})),
        expectation("final_response", json!({"exact": "x"})),
    ]);
    let report = score(&AgentTrace::new(runs), &gates);
    assert_eq!((report.errors.len(), report.failures.len()), (2, 1));
    assert!(!report.passed);
}

#[test]
fn what_is_large_is_shown_by_its_beginning() {
    let calls: Vec<Value> = (0..5000).map(|_| json!({"name": "search"})).collect();
    let runs = json!([{ "tool_calls": calls }]);
    let report = judged(runs, "tool_calls[*].name", &json!({"contains": "refund"}));
    let failure = &report.failures[0];
    let actual = failure.actual.as_str().unwrap();
    assert!(
        actual.len() < 400 && actual.ends_with("(45,001 bytes of JSON)"),
        "{actual}"
    );
}

#[test]
fn what_never_happened_fails_and_what_does_not_concern_a_run_is_left_out() {
    let target = "recovery.time_to_recovery_ms";
    let expectation = |matcher: Value| Expectation {
        target: target.into(),
        matcher: Matcher::from_value(&matcher).unwrap(),
    };
    let soon = [expectation(json!({"schema": {"maximum": 5000}}))];
    let not_slow = [expectation(json!({"not": {"schema": {"minimum": 5000}}}))];
    let trace = AgentTrace::new(Vec::new());
    let mut card = Scorecard::new(3);
    apply(&trace, &soon, METRICS, &mut card);
    assert_eq!(card.found.errors.len(), 1, "no run has it");

    let mut card = Scorecard::new(3);
    (0..3).for_each(|run| card.run(&About::PLAIN, run).set_not_applicable(target));
    apply(&trace, &soon, METRICS, &mut card);
    assert_eq!(card.found.errors.len(), 1, "no run had an occasion");

    let mut card = Scorecard::new(3);
    card.run(&About::PLAIN, 0).set_not_applicable(target);
    card.run(&About::PLAIN, 1).set(target, 3000);
    card.run(&About::PLAIN, 2).set_not_applicable(target);
    apply(&trace, &soon, METRICS, &mut card);
    assert!(card.found.errors.is_empty() && card.found.failures.is_empty());

    let mut card = Scorecard::new(3);
    card.run(&About::PLAIN, 0).set_never_happened(target);
    card.run(&About::PLAIN, 1).set(target, 3000);
    card.run(&About::PLAIN, 2).set_not_applicable(target);
    for expectations in [&soon, &not_slow] {
        apply(&trace, expectations, METRICS, &mut card);
        let failure = card.found.failures.pop().unwrap();
        assert_eq!((failure.run, failure.actual), (Some(0), Value::Null));
        assert!(
            failure
                .message
                .rendered()
                .ends_with("but it never happened")
        );
        assert!(card.found.failures.is_empty() && card.found.errors.is_empty());
    }

    let mut card = Scorecard::new(3);
    card.run(&About::PLAIN, 0).set(target, 10);
    card.run(&About::PLAIN, 1).set(target, 10);
    card.run(&About::PLAIN, 2).set(target, Value::Null);
    apply(&trace, &soon, METRICS, &mut card);
    assert_eq!(
        card.found.errors.first().and_then(|error| error.run),
        Some(2)
    );
}

#[test]
fn a_run_that_cannot_be_judged_hides_no_other() {
    let runs = json!([{"tool_calls": []}, {"tool_calls": [], "final_response": "secret"}]);
    let report = judged(
        runs,
        "final_response",
        &json!({"not": {"contains": "secret"}}),
    );
    assert_eq!((report.errors.len(), report.failures.len()), (1, 1));
    assert_eq!(report.failures[0].run, Some(1));
}

#[test]
fn flags_are_compared_as_flags() {
    let runs = json!([{"tool_calls": [], "final_response": "Done."}]);
    for (matcher, expected) in [
        (json!({"exact": true}), '+'),
        (json!({"exact": 1}), '+'),
        (json!({"one_of": [true]}), '+'),
        (json!({"schema": {"const": true}}), '+'),
        (json!({"not": {"exact": false}}), '+'),
        (json!({"exact": false}), '-'),
        (json!({"schema": {"minimum": 1}}), '+'),
    ] {
        let report = judged(runs.clone(), "narrative.gate_passed", &matcher);
        assert_eq!(sign(&report), expected, "{matcher}");
    }
}
