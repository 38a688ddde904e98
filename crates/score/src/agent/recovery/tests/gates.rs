//! The targets on the card, and the gate of the block.

use super::*;
use crate::gate::Expectation;
use crate::testing;

#[test]
fn the_gate_of_the_documentation() {
    let hang = json!([mark(0, "hang")]);
    let card = gated(vec![completed(&hang), completed(&json!([]))], Some(block())).unwrap();
    assert!(card.found.failures.is_empty(), "{:?}", card.found.failures);
    let expected = [
        (DETECTION, json!(3_000)),
        (RECOVERY, json!(3_000)),
        (HANG, json!(3_000)),
        (RECOVERED, json!(1)),
        (CLEAN_TIMEOUT, json!(1)),
    ];
    for (target, value) in expected {
        assert_eq!(card.run_value(0, target), Some(&value), "{target}");
    }
    for target in [DETECTION, RECOVERY] {
        assert_eq!(card.run_value(1, target), Some(&Value::Null));
        assert!(!card.is_applicable(1, target), "no fault was met");
    }
    assert_eq!(card.run_value(1, HANG), Some(&json!(0)));
    assert_eq!(card.run_value(1, RECOVERED), Some(&json!(1)));
    assert!(card.found.notes.is_empty(), "{:?}", card.found.notes);
}

#[test]
fn never_is_not_unknown() {
    let hang = json!([mark(0, "hang")]);
    let runs = vec![
        run(Some("turn_budget"), None, &hang),
        run(Some("completed"), None, &hang),
        completed(&json!([{ "call_index": 0, "kind": "hang", "recovered_ms": 500 }])),
    ];
    let card = gated(runs, None).unwrap();
    let told = |run: usize, target: &str| {
        let value = card.run_value(run, target).cloned().unwrap();
        (value, card.has_never_happened(run, target))
    };
    assert_eq!(told(0, RECOVERY), (Value::Null, true));
    assert_eq!(told(0, DETECTION), (json!(30_000), false));
    assert_eq!(
        told(1, RECOVERY),
        (Value::Null, false),
        "the reply is unknown"
    );
    assert_eq!(told(2, RECOVERY), (json!(500), false));
    assert_eq!(told(2, DETECTION), (Value::Null, true), "never noticed");
    assert_eq!(
        card.runs[0].found,
        [
            "The agent did not recover: call 0 (`search`) met `f` (hang), and the run used up its turns (turn_budget)."
        ]
    );
    assert_eq!(
        card.runs[0].details["recovery"]["calls"][0]["call_index"],
        0
    );
}

/// Two runs, of which one is unknown: the other one is judged all the same.
#[test]
fn one_run_of_two_is_unknown() {
    let hang = json!([mark(0, "hang")]);
    let runs = || {
        vec![
            run(Some("completed"), None, &hang),
            run(Some("turn_budget"), Some("Down."), &hang),
        ]
    };
    let card = gated(runs(), Some(block())).unwrap();
    let errors: Vec<_> = card.found.errors.iter().map(|error| error.run).collect();
    let failures: Vec<_> = card
        .found
        .failures
        .iter()
        .map(|failure| failure.run)
        .collect();
    assert_eq!((errors, failures), (vec![Some(0)], vec![Some(1)]));
    assert_eq!(
        card.found.errors[0].message,
        "a call met a fault, and the trace has no final_response"
    );
    let gates = Gates::default().with(&Recovery, block());
    let report = crate::gate::score(&AgentTrace::new(runs()), &gates);
    assert_eq!(report.targets[RECOVERED], Value::Null);
    assert!(!report.passed);
    assert_eq!((report.errors.len(), report.failures.len()), (1, 1));
}

#[test]
fn the_limit_itself_is_in_time() {
    let twice = json!([mark(0, "hang"), mark(2, "hang")]);
    let marked =
        json!([{ "call_index": 0, "kind": "hang", "detected_ms": 3_000, "recovered_ms": 6_000 }]);
    for faults in [twice, marked] {
        for (limit, failures) in [(6_000, 0), (5_999, 1)] {
            let block = RecoveryBlock {
                max_recovery_ms: Some(limit),
                ..block()
            };
            let card = gated(vec![completed(&faults)], Some(block)).unwrap();
            assert_eq!(
                card.found.failures.len(),
                failures,
                "{limit} {:?}",
                card.found.failures
            );
            assert!(card.found.errors.is_empty());
        }
    }
}

#[test]
fn a_fault_that_nobody_met_is_said() {
    let card = gated(vec![completed(&json!([])); 2], Some(block())).unwrap();
    assert!(card.found.failures.is_empty() && card.found.errors.is_empty());
    assert_eq!(
        card.found.notes,
        [
            "No run met a fault, so that recovery was not tried: check that the fault is aimed at a tool that the agent calls."
        ]
    );
    assert!(
        gated(vec![completed(&json!([]))], None)
            .unwrap()
            .found
            .notes
            .is_empty()
    );
    // One that struck, and was over soon, was met.
    let slow = json!([{ "call_index": 0, "kind": "slow", "delay_ms": 200 }]);
    let card = gated(vec![completed(&slow); 2], Some(block())).unwrap();
    assert!(card.found.failures.is_empty() && card.found.errors.is_empty());
    let told = "Recovery was not tried: 2 calls met a fault, and only waited, because it was over before max_detection_ms (3,000 ms).";
    assert!(
        card.found.notes[0].rendered().starts_with(told),
        "{:?}",
        card.found.notes
    );
    assert_eq!(card.found.notes.len(), 1);
}

#[test]
fn a_fault_without_its_settings_is_an_error_under_the_block() {
    let runs = || {
        vec![
            completed(&json!([mark(1, "slow")])),
            completed(&json!([mark(2, "recover_after")])),
        ]
    };
    let card = gated(runs(), Some(block())).unwrap();
    let errors: Vec<_> = card
        .found
        .errors
        .iter()
        .map(|error| (error.run, error.message.rendered(), error.hint.rendered()))
        .collect();
    assert_eq!(
        errors,
        [
            (
                Some(0),
                "call 1 (`fetch`) met `f` (slow), and the trace does not have its delay_ms, so what it did is unknown".to_owned(),
                "add delay_ms to the mark in faults, or detected_ms and recovered_ms by a real clock".to_owned()
            ),
            (
                Some(1),
                "call 2 (`search`) met `f` (recover_after), and the trace does not have its failures, so what it did is unknown".to_owned(),
                "add failures to the mark in faults, or detected_ms and recovered_ms by a real clock".to_owned()
            ),
        ]
    );
    let card = gated(runs(), None).unwrap();
    assert!(card.found.errors.is_empty());
    assert_eq!(card.run_value(0, HANG), Some(&Value::Null));
    assert!(!card.has_never_happened(0, RECOVERY) && card.run_value(0, RECOVERY).is_some());
    assert_eq!(card.found.notes.len(), 1);
}

#[test]
fn failures_say_what_happened() {
    let hang = json!([mark(0, "hang")]);
    let twice = json!([mark(0, "hang"), mark(2, "hang")]);
    let late =
        json!([{ "call_index": 1, "kind": "wedged", "detected_ms": 9_000, "recovered_ms": 4_000 }]);
    let cases = [
        (
            run(Some("turn_budget"), None, &twice),
            (RECOVERED, json!(1), json!(0)),
            "the agent did not recover: call 0 (`search`) met `f` (hang), and the run used up its turns (turn_budget); look at what it does after that call",
        ),
        (
            run(Some("completed"), Some(""), &hang),
            (RECOVERED, json!(1), json!(0)),
            "the agent did not recover: call 0 (`search`) met `f` (hang), and the run ended without a reply; look at what it does after that call",
        ),
        (
            completed(&twice),
            (RECOVERY, json!({ "maximum": 5_000 }), json!(6_000)),
            "the agent took 6,000 ms to recover, and 5,000 ms are allowed: calls 0 and 2 timed out, after 3,000 ms each; look at whether it calls a dead tool again",
        ),
        (
            completed(&json!([{ "call_index": 1, "kind": "hang", "detected_ms": 5 }])),
            (RECOVERED, json!(1), json!(0)),
            "the agent did not recover: call 1 (`fetch`) met the fault hang, and its mark has no recovered_ms; look at what it does after that call",
        ),
        (
            completed(&late),
            (CLEAN_TIMEOUT, json!(1), json!(0)),
            "the agent noticed only after 9,000 ms that call 1 (`fetch`) met the fault wedged, and its timeout budget is 3,000 ms; look at its timeout",
        ),
        (
            run(Some("error"), None, &json!([mark(77, "crash")])),
            (RECOVERED, json!(1), json!(0)),
            "the agent did not recover: call 77 (not in the trace) met `f` (crash), and the run ended in an error; look at what it does after that call",
        ),
    ];
    for (recorded, (target, expected, actual), message) in cases {
        let card = gated(vec![completed(&json!([])), recorded], Some(block())).unwrap();
        let [failure] = card.found.failures.as_slice() else {
            panic!("{message}: {:?}", card.found.failures);
        };
        assert_eq!(failure.target, target);
        assert_eq!((&failure.expected, &failure.actual), (&expected, &actual));
        assert_eq!(failure.with_hint(), message);
        assert_eq!(failure.run, Some(1));
    }
}

#[test]
fn limits_that_are_not_given_do_not_gate() {
    let late = json!([{ "call_index": 1, "kind": "hang", "detected_ms": 9_000_000, "recovered_ms": 9_000_000 }]);
    let card = gated(vec![completed(&late)], Some(RecoveryBlock::default())).unwrap();
    assert!(card.found.failures.is_empty(), "{:?}", card.found.failures);
    assert_eq!(card.run_value(0, CLEAN_TIMEOUT), Some(&json!(0)));
}

#[test]
fn expectations_of_its_own_replace_the_limits_and_that_is_said() {
    let own = Expectation {
        target: RECOVERED.into(),
        matcher: Matcher::from_value(&json!({ "exact": 1 })).unwrap(),
    };
    let twice = json!([mark(0, "hang"), mark(2, "hang")]);
    let gates = Gates::default().expecting(&Recovery, block(), vec![own]);
    let trace = AgentTrace::new(vec![completed(&twice)]);
    let card = testing::gated(&Recovery, &trace, &gates).unwrap();
    assert!(card.found.failures.is_empty());
    assert!(
        card.found.notes[0]
            .rendered()
            .contains("`max_recovery_ms` and `require_clean_timeout`")
    );
}

#[test]
fn an_unknown_end_is_an_error_under_the_block() {
    let unknown = || run(None, Some("Down."), &json!([mark(0, "hang")]));
    let runs = || vec![completed(&json!([])), unknown()];
    let card = gated(runs(), Some(block())).unwrap();
    let [error] = card.found.errors.as_slice() else {
        panic!("{:?}", card.found.errors);
    };
    assert_eq!(
        (error.run, error.target.as_deref()),
        (Some(1), Some(RECOVERED))
    );
    let card = gated(runs(), None).unwrap();
    assert_eq!(card.run_value(1, RECOVERED), Some(&Value::Null));
    assert_eq!(card.run_value(1, RECOVERY), Some(&Value::Null));
    assert_eq!(
        card.run_value(1, DETECTION),
        Some(&json!(30_000)),
        "the default budget"
    );
    assert_eq!(card.found.notes.len(), 1);
    // Also where nothing was met, and where a real clock has marked only one of two.
    let slow = json!([{ "call_index": 0, "kind": "slow", "delay_ms": 5 }]);
    let half = json!([{ "call_index": 0, "kind": "hang", "recovered_ms": 5 }, mark(1, "hang")]);
    for faults in [json!([]), slow, half] {
        let card = gated(vec![run(None, None, &faults)], Some(block())).unwrap();
        assert_eq!(card.found.errors.len(), 1, "{faults}");
        assert_eq!(
            card.found.errors[0].message,
            "the trace does not say why the run ended"
        );
    }
}
