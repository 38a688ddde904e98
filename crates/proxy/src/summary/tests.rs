//! What clients do after a fault, as the summary sees it.

use super::*;

fn call(at_ms: u64, tool: &str, arguments: u64, kind: Option<FaultKind>) -> SeenCall {
    SeenCall {
        at: Duration::from_millis(at_ms),
        session: 0,
        tool: tool.into(),
        identity: Some(arguments),
        fault: kind.map(|kind| SeenFault {
            name: kind.name().to_owned(),
            kind,
        }),
        ended: None,
        cancelled: None,
    }
}

fn at(mut call: SeenCall, ended: Option<u64>, cancelled: Option<u64>) -> SeenCall {
    call.ended = ended.map(Duration::from_millis);
    call.cancelled = cancelled.map(Duration::from_millis);
    call
}

fn summary(calls: Vec<SeenCall>) -> CallSummary {
    let mut counts = BTreeMap::new();
    for call in &calls {
        *counts.entry(Arc::clone(&call.tool)).or_default() += 1;
    }
    summarise(&SeenCalls {
        calls,
        counts,
        repeatable: BTreeSet::from(["read".to_owned()]),
        ..SeenCalls::default()
    })
}

fn next(calls: Vec<SeenCall>) -> FaultedCallReport {
    summary(calls).faulted_calls.swap_remove(0)
}

use FaultKind::{Error, Hang, LoseReply, LoseRequest, Slow};

#[test]
fn the_same_call_again_is_a_retry_with_its_time() {
    let failed = at(call(100, "write", 1, Some(Error)), Some(110), None);
    let told = next(vec![failed, call(350, "write", 1, None)]);
    assert_eq!(
        (told.next, told.next_after_ms),
        (NextStep::Retried, Some(250.0))
    );
    assert_eq!(told.reached_server, None);
}

#[test]
fn a_retry_counts_even_after_other_calls() {
    let failed = at(call(0, "write", 1, Some(Error)), Some(1), None);
    let others = [call(10, "read", 9, None), call(20, "write", 2, None)];
    let mut calls = vec![failed];
    calls.extend(others.clone());
    calls.push(call(30, "write", 1, None));
    assert_eq!(next(calls).next, NextStep::Retried);

    let failed = at(call(0, "write", 1, Some(Error)), Some(1), None);
    let told = next([vec![failed.clone()], others.to_vec()].concat());
    assert_eq!(told.next, NextStep::OtherArguments);
    let told = next(vec![failed, others[0].clone()]);
    assert_eq!(told.next, NextStep::OtherTool);
    assert_eq!(told.next_tool.as_deref(), Some("read"));
}

#[test]
fn calls_under_way_at_the_same_time_are_no_retries() {
    // Five at once, all hung, nothing after.
    let calls = (0..5).map(|at| call(at, "write", 1, Some(Hang))).collect();
    let summary = summary(calls);
    assert_eq!(summary.next_steps, BTreeMap::from([(NextStep::GaveUp, 5)]));
    // One that ends later than the other begins.
    let failed = at(call(0, "write", 1, Some(Error)), Some(500), None);
    let told = next(vec![failed, call(400, "write", 1, None)]);
    assert_eq!(told.next, NextStep::GaveUp);
}

#[test]
fn giving_up_in_silence_and_aloud() {
    assert_eq!(
        next(vec![call(0, "write", 1, Some(Hang))]).next,
        NextStep::GaveUp
    );
    let cancelled = at(call(5, "write", 1, Some(Hang)), None, Some(3_005));
    let told = next(vec![cancelled.clone()]);
    assert_eq!(told.next, NextStep::Cancelled);
    assert_eq!(told.cancelled_after_ms, Some(3_000.0));
    // Cancelled, and made again.
    let told = next(vec![cancelled, call(3_010, "write", 1, None)]);
    assert_eq!(
        (told.next, told.next_after_ms),
        (NextStep::Retried, Some(3_005.0))
    );
    // A timeout of which nobody tells.
    let told = next(vec![
        call(0, "write", 1, Some(Hang)),
        call(900, "write", 1, None),
    ]);
    assert_eq!(told.next, NextStep::Retried);
}

#[test]
fn a_lost_write_made_again_is_done_twice_or_once() {
    let again = call(1_000, "write", 1, None);
    let told = next(vec![call(0, "write", 1, Some(LoseReply)), again.clone()]);
    assert_eq!(
        (told.next, told.reached_server),
        (NextStep::RepeatedLostWrite, Some(2))
    );
    let told = next(vec![call(0, "write", 1, Some(LoseRequest)), again]);
    assert_eq!(
        (told.next, told.reached_server),
        (NextStep::RepeatedLostWrite, Some(1))
    );
    // Lost a second time.
    let lost = call(1_000, "write", 1, Some(LoseRequest));
    let told = next(vec![call(0, "write", 1, Some(LoseRequest)), lost]);
    assert_eq!(told.reached_server, Some(0));
    // What only reads can be made as often as one likes.
    let again = call(1_000, "read", 1, None);
    let told = next(vec![call(0, "read", 1, Some(LoseReply)), again]);
    assert_eq!((told.next, told.reached_server), (NextStep::Retried, None));
}

#[test]
fn who_waits_for_a_late_answer_takes_it() {
    let late = at(call(0, "read", 1, Some(Slow)), Some(1_000), None);
    let told = next(vec![late.clone(), call(1_001, "read", 1, None)]);
    assert_eq!(told.next, NextStep::TookTheAnswer);
    let told = next(vec![late]);
    assert_eq!(told.next, NextStep::TookTheAnswer);
    let tired = at(call(0, "read", 1, Some(Slow)), None, Some(500));
    let told = next(vec![tired, call(600, "read", 1, None)]);
    assert_eq!(told.next, NextStep::Retried);
}

#[test]
fn who_has_cancelled_takes_no_answer_that_comes_after() {
    let kind = Some(FaultKind::ReplyAfterCancel);
    let dropped = at(call(0, "write", 1, kind), Some(700), Some(300));
    let told = next(vec![dropped.clone(), call(1_100, "write", 1, None)]);
    assert_eq!(
        (told.next, told.next_after_ms),
        (NextStep::Retried, Some(1_100.0))
    );
    // Even before the answer came.
    let told = next(vec![dropped.clone(), call(400, "write", 1, None)]);
    assert_eq!(told.next, NextStep::Retried);
    let told = next(vec![dropped.clone(), call(400, "read", 1, None)]);
    assert_eq!(told.next, NextStep::OtherTool);
    assert_eq!(next(vec![dropped]).next, NextStep::Cancelled);
    let taken = at(call(0, "write", 1, kind), Some(700), None);
    let told = next(vec![taken, call(1_100, "write", 1, None)]);
    assert_eq!(told.next, NextStep::TookTheAnswer);
}

#[test]
fn sessions_are_told_apart_and_faults_counted_by_tool() {
    let mut other = call(1_000, "write", 1, None);
    other.session = 1;
    let summary = summary(vec![
        call(0, "write", 1, Some(Hang)),
        other,
        at(call(2_000, "read", 2, Some(Error)), Some(2_001), None),
    ]);
    assert_eq!(summary.calls, 3);
    assert_eq!(summary.faulted_calls[0].next, NextStep::OtherTool);
    let counted: Vec<_> = summary
        .faults
        .iter()
        .map(|struck| (struck.fault.as_str(), struck.tool.as_str(), struck.calls))
        .collect();
    assert_eq!(counted, [("error", "read", 1), ("hang", "write", 1)]);
}

#[test]
fn the_list_of_faulted_calls_is_bounded() {
    let calls: Vec<_> = (0..FAULTED_CALLS_MAX as u64 + 7)
        .map(|number| {
            at(
                call(number, "write", number, Some(Error)),
                Some(number),
                None,
            )
        })
        .collect();
    let summary = summary(calls);
    assert_eq!(summary.faulted_calls.len(), FAULTED_CALLS_MAX);
    assert_eq!(summary.faulted_calls_omitted, 7);
}

#[test]
fn totals_are_those_of_all_calls_remembered_or_not() {
    let total = json!({ "fault": "error", "kind": "error", "struck": 7, "aimed": 9 });
    let total: FaultCount = serde_json::from_value(total).unwrap();
    let summary = summarise(&SeenCalls {
        totals: vec![total.clone()],
        ..SeenCalls::default()
    });
    assert_eq!(summary.fault_totals, [total]);
}
