use crate::testing;
use mcprove_trace::{AgentRun, AgentTrace, FaultKind, FaultMark};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::gate::Matcher;

mod gates;
mod watched;

fn observation(detected: Option<u64>, recovered: Option<u64>) -> RecoveryObservation {
    RecoveryObservation {
        call_start_ms: 1_000,
        detected_ms: detected,
        recovered_ms: recovered,
        timeout_budget_ms: 3_000,
    }
}

/// The block of the documentation.
fn block() -> RecoveryBlock {
    RecoveryBlock {
        max_detection_ms: 3_000,
        max_recovery_ms: Some(5_000),
        require_clean_timeout: true,
    }
}

fn gated(runs: Vec<AgentRun>, block: Option<RecoveryBlock>) -> Result<Scorecard, ScoreError> {
    let gates = block.map_or_else(Gates::default, |block| {
        Gates::default().with(&Recovery, block)
    });
    testing::gated(&Recovery, &AgentTrace::new(runs), &gates)
}

#[test]
fn marks_become_times() {
    // Marks; time to detection, time to recovery, hang, clean.
    let cases = [
        (
            (Some(4_000), Some(4_200)),
            (Some(3_000), Some(3_200), 3_000, true),
        ),
        (
            (Some(10_000), Some(10_500)),
            (Some(9_000), Some(9_500), 9_000, false),
        ),
        ((Some(4_001), None), (Some(3_001), None, 3_001, false)),
        ((None, Some(1_500)), (None, Some(500), 500, false)),
        ((None, None), (None, None, 3_000, false)),
        // Recovered before it was noticed: the earlier one ends the hang.
        (
            (Some(3_000), Some(2_000)),
            (Some(2_000), Some(1_000), 1_000, true),
        ),
        // Before the call began: did not happen.
        ((Some(999), Some(4_000)), (None, Some(3_000), 3_000, false)),
        ((Some(1_000), Some(0)), (Some(0), None, 0, true)),
    ];
    for ((detected, recovered), (detection, recovery, hang, clean)) in cases {
        let report = score_recovery(&observation(detected, recovered));
        let expected = RecoveryReport {
            time_to_detection_ms: detection,
            time_to_recovery_ms: recovery,
            user_visible_hang_ms: hang,
            recovered: recovery.is_some(),
            clean_timeout: clean,
        };
        assert_eq!(report, expected, "{detected:?} {recovered:?}");
    }
}

#[test]
fn a_budget_is_met_by_those_who_recover_in_time() {
    let report = score_recovery(&observation(Some(4_000), Some(4_200)));
    assert!(meets_recovery_budget(&report, 3_200));
    assert!(!meets_recovery_budget(&report, 3_199));
    let never = score_recovery(&observation(Some(4_000), None));
    assert!(!meets_recovery_budget(&never, u64::MAX));
}

/// A run that ended for this reason with this reply, and met these faults.
fn run(stop_reason: Option<&str>, reply: Option<&str>, faults: &Value) -> AgentRun {
    let text = json!({
        "tool_calls": [{ "name": "search" }, { "name": "fetch" }, { "name": "search" }, { "name": "search" }],
        "final_response": reply,
        "conversation": { "stop_reason": stop_reason },
        "faults": faults,
    });
    serde_json::from_value(text).unwrap()
}

fn completed(faults: &Value) -> AgentRun {
    run(Some("completed"), Some("Search is down."), faults)
}

fn mark(call_index: usize, kind: &str) -> Value {
    json!({ "call_index": call_index, "fault": "f", "kind": kind })
}

#[test]
fn each_timeout_takes_one_budget() {
    let one = observe_run(&completed(&json!([mark(0, "hang")])), 3_000);
    assert_eq!(one.time_to_detection_ms, Some(3_000));
    assert_eq!(one.time_to_recovery_ms, Some(3_000));
    assert_eq!(one.user_visible_hang_ms, Some(3_000));
    assert_eq!(one.recovered, Some(true));
    assert_eq!(one.clean_timeout, Some(true));
    let two = observe_run(
        &completed(&json!([mark(0, "hang"), mark(2, "hang")])),
        3_000,
    );
    assert_eq!(two.time_to_recovery_ms, Some(6_000));
    assert_eq!(two.time_to_detection_ms, Some(3_000));
    assert_eq!(two.user_visible_hang_ms, Some(3_000));
}

/// What the trace does not say of a fault that has no settings.
fn unsettled(kind: &str) -> String {
    let recovery = observe_run(&completed(&json!([mark(0, kind)])), 3_000);
    assert!(recovery.calls.is_empty());
    assert_eq!(recovery.time_to_detection_ms, None);
    assert_eq!(recovery.time_to_recovery_ms, None);
    assert_eq!(recovery.user_visible_hang_ms, None);
    assert_eq!(recovery.clean_timeout, None, "nobody knows");
    assert_eq!(recovery.recovered, Some(true), "whatever the fault did");
    recovery.unsettled[0].untold.clone()
}

/// What one fault of each kind takes, with a budget of 3,000 ms: the detections and the time.
#[test]
fn every_kind_of_fault() {
    let always = [
        "hang",
        "wedged",
        "lose_request",
        "lose_reply",
        "progress_forever",
    ];
    let by_delay = ["slow", "reply_after_cancel", "jitter"];
    for (name, kind) in FaultKind::ALL {
        let at = |settings: Value| {
            let mut fault = mark(0, name);
            fault
                .as_object_mut()
                .unwrap()
                .extend(settings.as_object().unwrap().clone());
            let recovery = observe_run(&completed(&json!([fault])), 3_000);
            assert_eq!(recovery.recovered, Some(true), "{name}");
            assert_eq!(recovery.clean_timeout, Some(true), "{name}");
            (recovery.time_to_detection_ms, recovery.time_to_recovery_ms)
        };
        let (timeout, nothing) = ((Some(3_000), Some(3_000)), (None, None));
        if kind == FaultKind::None {
            assert_eq!(at(json!({})), nothing);
        } else if always.contains(&name) {
            assert_eq!(at(json!({})), timeout, "{name}");
        } else if by_delay.contains(&name) {
            assert_eq!(at(json!({ "delay_ms": 3_000 })), timeout, "{name}");
            assert_eq!(at(json!({ "delay_ms": 2_999 })), nothing, "{name}");
            assert_eq!(unsettled(name), "delay_ms", "{name}");
        } else if kind == FaultKind::RecoverAfter {
            assert_eq!(at(json!({ "failures": 1 })), timeout);
            assert_eq!(at(json!({ "failures": 0 })), nothing);
            assert_eq!(unsettled(name), "failures");
        } else {
            assert_eq!(at(json!({})), (Some(0), Some(0)), "{name}");
        }
    }
}

#[test]
fn recover_after_counts_each_fault_by_its_name_across_tools() {
    let fault = |call_index: usize, name: &str| json!({ "call_index": call_index, "fault": name, "kind": "recover-after", "failures": 2 });
    let time = |faults: Value| observe_run(&completed(&faults), 1_000).time_to_recovery_ms;
    // Calls 0 and 1 are of different tools.
    let one = json!([fault(0, "a"), fault(1, "a"), fault(2, "a"), fault(3, "a")]);
    assert_eq!(time(one), Some(2_000));
    // The order of the marks is not that of the calls.
    let shuffled = json!([fault(3, "a"), fault(1, "a"), fault(0, "a")]);
    let recovery = observe_run(&completed(&shuffled), 1_000);
    let calls: Vec<usize> = recovery.calls.iter().map(|call| call.call_index).collect();
    assert_eq!(calls, [0, 1]);
    let two = json!([fault(0, "a"), fault(1, "b"), fault(2, "a"), fault(3, "b")]);
    assert_eq!(time(two), Some(4_000));
}

#[test]
fn a_call_meets_one_fault() {
    let faults = json!([
        mark(0, "none"),
        mark(0, "hang"),
        mark(0, "hang"),
        mark(0, "error")
    ]);
    let recovery = observe_run(&completed(&faults), 1_000);
    assert_eq!(recovery.calls.len(), 1);
    assert_eq!(recovery.time_to_recovery_ms, Some(1_000));
}

#[test]
fn who_recovers() {
    let hang = json!([mark(0, "hang")]);
    let cases = [
        (Some("completed"), Some("Down."), Some(true)),
        (Some("completed"), Some(" \n"), Some(false)),
        (Some("completed"), Some(""), Some(false)),
        (Some("completed"), None, None),
        (Some("turn_budget"), Some("Down."), Some(false)),
        (Some("token_budget"), None, Some(false)),
        (Some("tool_call_budget"), None, Some(false)),
        (Some("time_budget"), None, Some(false)),
        (Some("error"), None, Some(false)),
        (None, Some("Down."), None),
    ];
    for (stop_reason, reply, expected) in cases {
        let recovery = observe_run(&run(stop_reason, reply, &hang), 3_000);
        assert_eq!(recovery.recovered, expected, "{stop_reason:?} {reply:?}");
        assert_eq!(
            recovery.time_to_recovery_ms.is_some(),
            expected == Some(true)
        );
        assert_eq!(recovery.user_visible_hang_ms, Some(3_000), "the budget");
        let unharmed = observe_run(&run(stop_reason, reply, &json!([])), 3_000);
        assert_eq!(unharmed.recovered, Some(true), "no fault was met");
        assert_eq!(unharmed.time_to_recovery_ms, None);
        assert_eq!(unharmed.user_visible_hang_ms, Some(0));
        assert_eq!(unharmed.clean_timeout, Some(true));
    }
}

#[test]
fn a_real_clock_wins() {
    let real = |call_index: usize, detected: Option<u64>, recovered: Option<u64>| json!({ "call_index": call_index, "kind": "hang", "detected_ms": detected, "recovered_ms": recovered });
    // Faults; time to detection, time to recovery, hang, clean.
    let cases = [
        (
            json!([real(0, Some(900), Some(1_200))]),
            (Some(900), Some(1_200), 900, true),
        ),
        (
            json!([real(0, Some(9_000), Some(9_100))]),
            (Some(9_000), Some(9_100), 9_000, false),
        ),
        // Recoveries overlap: the first call's time has the second's in it.
        (
            json!([
                real(0, Some(900), Some(2_200)),
                real(1, Some(800), Some(1_200))
            ]),
            (Some(900), Some(2_200), 900, true),
        ),
        // Recovered without having noticed.
        (
            json!([real(0, None, Some(500))]),
            (None, Some(500), 500, false),
        ),
        // One of each clock.
        (
            json!([real(0, Some(900), Some(1_200)), mark(1, "hang")]),
            (Some(3_000), Some(3_000), 3_000, true),
        ),
    ];
    for (faults, (detection, recovery, hang, clean)) in cases {
        let observed = observe_run(&completed(&faults), 3_000);
        assert_eq!(observed.time_to_detection_ms, detection, "{faults}");
        assert_eq!(observed.time_to_recovery_ms, recovery, "{faults}");
        assert_eq!(observed.user_visible_hang_ms, Some(hang), "{faults}");
        assert_eq!(observed.clean_timeout, Some(clean), "{faults}");
        assert_eq!(observed.recovered, Some(true), "{faults}");
    }
    // What is not marked did not happen, though the run ended normally.
    let noticed = json!([real(0, Some(900), None)]);
    let marked = json!([real(0, Some(900), Some(1_200))]);
    let one_of_two = json!([real(0, Some(900), Some(1_200)), real(1, Some(900), None)]);
    for (stop_reason, faults, expected) in [
        (Some("completed"), &noticed, Some(false)),
        (None, &noticed, Some(false)),
        (Some("turn_budget"), &noticed, Some(false)),
        (Some("completed"), &one_of_two, Some(false)),
        (Some("completed"), &marked, Some(true)),
        // What is marked did not hold, where the run looped to its budget.
        (Some("turn_budget"), &marked, Some(false)),
        (Some("error"), &marked, Some(false)),
        (None, &marked, Some(true)),
    ] {
        let observed = observe_run(&run(stop_reason, Some("Down."), faults), 3_000);
        assert_eq!(observed.recovered, expected, "{stop_reason:?} {faults}");
        let is_timed = observed.time_to_recovery_ms.is_some();
        assert_eq!(is_timed, expected == Some(true), "{stop_reason:?} {faults}");
    }
}

/// A mark before the call began did not happen, and was still made on a real clock.
#[test]
fn a_negative_mark_did_not_happen() {
    let marks =
        json!([{ "call_index": 0, "kind": "hang", "detected_ms": -5, "recovered_ms": 200.0 }]);
    let recovery = observe_run(&run(None, None, &marks), 3_000);
    let call = &recovery.calls[0];
    assert!(call.is_real_clock && !call.report.clean_timeout);
    assert_eq!(call.report.time_to_detection_ms, None);
    assert_eq!(call.report.time_to_recovery_ms, Some(200));
}

fn marks() -> impl Strategy<Value = FaultMark> {
    let kinds = prop::sample::select(FaultKind::ALL.map(|(_, kind)| kind).to_vec());
    let times = || prop::option::of(prop_oneof![0_u64..10_000, any::<u64>()]);
    let marks = || prop::option::of(prop_oneof![-100_i64..10_000, any::<i64>()]);
    let index = prop_oneof![4 => 0_usize..6, 1 => any::<usize>()];
    let name = prop::option::of("[ab]");
    (index, name, kinds, times(), times(), marks(), marks()).prop_map(
        |(call_index, fault, kind, delay_ms, failures, detected_ms, recovered_ms)| FaultMark {
            call_index,
            fault,
            kind,
            delay_ms,
            failures,
            detected_ms,
            recovered_ms,
            watched_ms: detected_ms.and_then(|time| u64::try_from(time).ok()),
            left_ms: failures,
            real_answer: None,
            went_on: delay_ms.map(|delay| delay % 2 == 0),
        },
    )
}

proptest! {
    #[test]
    fn any_marks_make_sense(
        start in any::<u64>(),
        detected in prop::option::of(any::<u64>()),
        recovered in prop::option::of(any::<u64>()),
        budget in any::<u64>(),
        max in any::<u64>(),
    ) {
        let report = score_recovery(&RecoveryObservation {
            call_start_ms: start,
            detected_ms: detected,
            recovered_ms: recovered,
            timeout_budget_ms: budget,
        });
        let times = [report.time_to_detection_ms, report.time_to_recovery_ms];
        let earliest = times.into_iter().flatten().min();
        prop_assert_eq!(report.user_visible_hang_ms, earliest.unwrap_or(budget));
        prop_assert_eq!(report.recovered, report.time_to_recovery_ms.is_some());
        prop_assert_eq!(report.time_to_detection_ms.is_some(), detected.is_some_and(|mark| mark >= start));
        prop_assert_eq!(report.time_to_recovery_ms.is_some(), recovered.is_some_and(|mark| mark >= start));
        prop_assert!(!report.clean_timeout || report.user_visible_hang_ms <= budget);
        let in_time = meets_recovery_budget(&report, max);
        prop_assert!(!in_time || meets_recovery_budget(&report, max.saturating_add(1)), "a larger budget is met too");
        prop_assert!(!in_time || report.recovered);
    }

    #[test]
    fn only_differences_of_marks_count(
        start in 0_u64..1_000_000,
        detected in prop::option::of(0_u64..1_000_000),
        recovered in prop::option::of(0_u64..1_000_000),
        shift in 0_u64..1_000_000,
    ) {
        let at = |shift: u64| score_recovery(&RecoveryObservation {
            call_start_ms: start + shift,
            detected_ms: detected.map(|mark| mark + shift),
            recovered_ms: recovered.map(|mark| mark + shift),
            timeout_budget_ms: 3_000,
        });
        prop_assert_eq!(at(0), at(shift));
    }

    #[test]
    fn any_run_makes_sense(
        faults in prop::collection::vec(marks(), 0..8),
        stop_reason in prop::sample::select(vec![None, Some("completed"), Some("turn_budget")]),
        budget in any::<u64>(),
    ) {
        let mut recorded = run(stop_reason, Some("Down."), &json!([]));
        recorded.faults = faults;
        let recovery = observe_run(&recorded, budget);
        prop_assert!(recovery.time_to_recovery_ms.is_none() || recovery.recovered == Some(true));
        prop_assert!(stop_reason.is_none() || recovery.recovered.is_some() || !recovery.is_settled());
        if recovery.calls.is_empty() && recovery.is_settled() {
            prop_assert_eq!(recovery.recovered, Some(true));
        }
        let limits = RecoveryBlock { max_detection_ms: budget, ..block() };
        if let Ok(card) = gated(vec![recorded.clone()], Some(limits)) {
            for failure in card.found.failures {
                prop_assert!(!failure.message.rendered().is_empty());
            }
        }
        // Where each call has one mark, the order of the marks does not matter.
        let mut one_each = recorded.clone();
        one_each.faults.sort_by_key(|mark| mark.call_index);
        one_each.faults.dedup_by_key(|mark| mark.call_index);
        let mut reversed = one_each.clone();
        reversed.faults.reverse();
        prop_assert_eq!(observe_run(&one_each, budget), observe_run(&reversed, budget));
    }

    #[test]
    fn a_timeout_more_never_makes_it_faster(count in 0_usize..6, budget in 0_u64..100_000) {
        let time = |count: usize| {
            let faults: Vec<Value> = (0..count).map(|index| mark(index, "hang")).collect();
            observe_run(&completed(&json!(faults)), budget).time_to_recovery_ms.unwrap_or(0)
        };
        prop_assert_eq!(time(count), budget * count as u64);
        prop_assert!(time(count + 1) >= time(count));
    }
}
