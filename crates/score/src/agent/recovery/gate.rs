//! The default gate of the block `recovery`, and its failures in words.

use super::watched::{never_noticed, watched};
use super::{CLEAN_TIMEOUT, FaultedCall, RECOVERED, RECOVERY, RecoveryBlock, RunRecovery};
use crate::prelude::*;

/// Recovered; in time, where there is a limit; and noticed in time, where that is required.
pub fn default_gate(
    run: &AgentRun,
    recovery: &RunRecovery,
    block: &RecoveryBlock,
    card: &mut RunCard<'_>,
) {
    if let Some(why) = why_not_recovered(run, recovery) {
        let hint = if recovery.is_watched() && run.stop_reason().is_none() {
            ", and where it told its user of the failure instead, score its own trace, which has the reply"
        } else {
            ""
        };
        let message = sentence!("{why}; look at what it does after that call{hint}");
        card.fail(RECOVERED, 1, 0, message);
    }
    too_slow(run, recovery, block, card);
    let budget = block.max_detection_ms;
    let mut calls = recovery.calls.iter();
    if block.require_clean_timeout
        && let Some(call) = calls.find(|call| !call.report.clean_timeout)
    {
        // Only a little more than the budget, by a real clock: most likely the budget is the very timeout of
        // the client.
        let is_near = |time: u64| time > budget && time <= budget.saturating_add(budget / 10);
        let time = call.report.time_to_detection_ms;
        let hint = if call.is_real_clock && time.is_some_and(is_near) {
            ": a budget must be a little longer than that timeout, because a message takes time too"
        } else {
            ""
        };
        let late = noticed_late(run, call, budget);
        let message = sentence!("{late}; look at the timeout that it sets{hint}");
        card.fail(CLEAN_TIMEOUT, 1, 0, message);
    }
}

/// Expectations of its own replace the default gate, and with it the limits that belong to it.
pub fn note_replaced(block: &RecoveryBlock, card: &mut Scorecard) {
    let limits = [
        block.max_recovery_ms.map(|_| "max_recovery_ms"),
        block
            .require_clean_timeout
            .then_some("require_clean_timeout"),
    ];
    let limits: Vec<&str> = limits.into_iter().flatten().collect();
    if !limits.is_empty() {
        card.limits.note(sentence!(
            "The recovery block has expectations of its own, which replace {}: write {RECOVERY} and {CLEAN_TIMEOUT} among them.",
            quoted_names(&limits)
        ));
    }
}

/// Tells of one run what went wrong with its faults; of a recording, what came of each, the worst first.
pub fn tell_found(
    run: &AgentRun,
    recovery: &RunRecovery,
    max_detection_ms: u64,
    card: &mut RunCard<'_>,
) {
    let mut calls: Vec<&FaultedCall> = recovery.calls.iter().collect();
    let mut found: Vec<Message> = recovery
        .unsettled
        .iter()
        .filter_map(|call| Some((call, call.watched_ms?)))
        .map(|(call, watched)| never_noticed(run, call, watched))
        .collect();
    if !found.is_empty() || calls.iter().any(|call| call.watched_ms.is_some()) {
        calls.sort_by_key(|call| (call.report.recovered, call.report.clean_timeout));
        found.extend(calls.iter().map(|call| watched(run, call)));
        let noun = "call that met a fault";
        card.tell_first(count(found.len()), noun, found);
        return;
    }
    let unrecovered = why_not_recovered(run, recovery);
    let late = calls
        .iter()
        .filter(|call| !call.report.clean_timeout)
        .map(|call| noticed_late(run, call, max_detection_ms));
    let found: Vec<Message> = unrecovered.into_iter().chain(late).collect();
    card.tell_first(count(found.len()), "late call", found);
}

/// Why a run did not recover; `None` if it did, or if that is unknown.
fn why_not_recovered(run: &AgentRun, recovery: &RunRecovery) -> Option<Message> {
    if recovery.recovered != Some(false) {
        return None;
    }
    let unmarked = recovery
        .calls
        .iter()
        .find(|call| call.is_real_clock && !call.report.recovered);
    let ended_well = run.stop_reason() == Some(StopReason::Completed);
    let is_known = run.stop_reason().is_some();
    let (call, why) = match unmarked {
        Some(call) if !is_known && call.watched_ms.is_some() => (
            Some(call),
            "no call that it made after it noticed succeeded",
        ),
        Some(call) if ended_well || !is_known => (Some(call), "its mark has no recovered_ms"),
        _ => (recovery.calls.first(), ending(run)),
    };
    let met = call.map_or_else(Message::default, |call| met_by(run, call));
    Some(sentence!("the agent did not recover: {met}, and {why}"))
}

fn too_slow(run: &AgentRun, recovery: &RunRecovery, block: &RecoveryBlock, card: &mut RunCard<'_>) {
    let (Some(limit), Some(time)) = (block.max_recovery_ms, recovery.time_to_recovery_ms) else {
        return;
    };
    if time <= limit {
        return;
    }
    let calls = || recovery.calls.iter();
    let slowest =
        calls().find(|call| call.is_real_clock && call.report.time_to_recovery_ms == Some(time));
    let reason = if let Some(call) = slowest {
        sentence!("{}, by the clock of the run", met_by(run, call))
    } else {
        let timed_out = calls()
            .filter(|call| !call.is_real_clock && call.report.time_to_detection_ms > Some(0));
        let timed_out: Vec<usize> = timed_out.map(|call| call.call_index).collect();
        sentence!(
            "{} timed out, after {} each",
            named_places("call", &timed_out),
            milliseconds(block.max_detection_ms)
        )
    };
    let message = sentence!(
        "the agent took {} to recover, and {} are allowed: {reason}; look at whether it calls a dead tool again",
        milliseconds(time),
        milliseconds(limit),
    );
    card.fail(RECOVERY, json!({ "maximum": limit }), time, message);
}

fn noticed_late(run: &AgentRun, call: &FaultedCall, max_detection_ms: u64) -> Message {
    let noticed = match call.report.time_to_detection_ms {
        Some(time) => format!("only after {}", milliseconds(time)),
        None => "never".to_owned(),
    };
    sentence!(
        "the agent noticed {noticed} that {}, and its timeout budget is {}",
        met_by(run, call),
        milliseconds(max_detection_ms),
    )
}

pub fn met_by(run: &AgentRun, call: &FaultedCall) -> Message {
    met(run, call.call_index, call.fault.as_deref(), call.kind)
}

/// ``call 0 (`search`) met `hung-search` (hang)``.
pub fn met(run: &AgentRun, index: usize, fault: Option<&str>, kind: FaultKind) -> Message {
    let tool = run.tool_calls.get(index).map_or_else(
        || "not in the trace".into(),
        |recorded| quoted(&recorded.name),
    );
    // A fault without a name of its own has that of its kind.
    let fault = match fault.filter(|fault| fault.parse() != Ok(kind)) {
        Some(fault) => sentence!("{} ({})", quoted(fault), kind.name()),
        None => sentence!("the fault {}", kind.name()),
    };
    sentence!("call {index} ({tool}) met {fault}")
}

/// How a run ended that did not recover.
fn ending(run: &AgentRun) -> &'static str {
    match run.stop_reason() {
        Some(StopReason::Completed) => "the run ended without a reply",
        Some(StopReason::TurnBudget) => "the run used up its turns (turn_budget)",
        Some(StopReason::TokenBudget) => "the run used up its tokens (token_budget)",
        Some(StopReason::ToolCallBudget) => "the run used up its tool calls (tool_call_budget)",
        Some(StopReason::TimeBudget) => "the run used up its time (time_budget)",
        Some(StopReason::Error) => "the run ended in an error",
        None => "nobody knows how the run ended",
    }
}

pub fn milliseconds(time: u64) -> String {
    format!("{} ms", whole(time))
}
