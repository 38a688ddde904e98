//! The default gate of the block `recovery`, and its failures in words.

use super::prelude::*;

/// Recovered; in time, where there is a limit; and noticed in time, where that is required.
pub fn default_gate(
    run: &AgentRun,
    recovery: &RunRecovery,
    block: &RecoveryBlock,
    card: &mut RunCard<'_>,
) {
    if let Some(why) = why_not_recovered(run, recovery) {
        let hint = if recovery.is_watched() && run.stop_reason().is_none() {
            "look at what it does after that call; if it reported the failure to its user, score its own trace, which has the reply"
        } else {
            "look at what it does after that call"
        };
        card.fail(RECOVERED, 1, 0, Diagnostic::new(why, hint));
    }
    too_slow(run, recovery, block, card);
    let budget = block.max_detection_ms;
    if block.require_clean_timeout
        && let Some(call) = recovery
            .calls
            .iter()
            .find(|call| !call.report.clean_timeout)
    {
        // Only a little more than the budget, by a real clock: most likely the budget is the very timeout of
        // the client.
        let is_near = |time: u64| time > budget && time <= budget.saturating_add(budget / 10);
        let hint = if call.is_real_clock && call.report.time_to_detection_ms.is_some_and(is_near) {
            "look at its timeout: the budget must be a little longer, because a message takes time too"
        } else {
            "look at its timeout"
        };
        let late = noticed_late(run, call, budget);
        card.fail(CLEAN_TIMEOUT, 1, 0, Diagnostic::new(late, hint));
    }
}

/// Expectations of its own replace the default gate, and with it the limits that belong to it.
pub fn note_replaced(block: &RecoveryBlock, card: &mut Scorecard) {
    let limits: Vec<&str> = [
        block.max_recovery_ms.map(|_| "max_recovery_ms"),
        block
            .require_clean_timeout
            .then_some("require_clean_timeout"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !limits.is_empty() {
        card.limits.note(sentence!(
            "The expectations of the recovery block replace {}: add {RECOVERY} and {CLEAN_TIMEOUT} to them.",
            quoted_names(&limits)
        ));
    }
}

/// Tells of one run what went wrong with its faults; of a recording, the outcome of each, the worst first.
pub fn add_found(
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
        card.add_first_findings(count(found.len()), noun, found);
        return;
    }
    let unrecovered = why_not_recovered(run, recovery);
    let late = calls
        .iter()
        .filter(|call| !call.report.clean_timeout)
        .map(|call| noticed_late(run, call, max_detection_ms));
    let found: Vec<Message> = unrecovered.into_iter().chain(late).collect();
    card.add_first_findings(count(found.len()), "late call", found);
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
        let timed_out: Vec<usize> = calls()
            .filter(|call| !call.is_real_clock && call.report.time_to_detection_ms > Some(0))
            .map(|call| call.call_index)
            .collect();
        sentence!(
            "{} timed out, after {} each",
            named_places("call", &timed_out),
            milliseconds(block.max_detection_ms)
        )
    };
    let message = sentence!(
        "the agent took {} to recover, and {} are allowed: {reason}",
        milliseconds(time),
        milliseconds(limit),
    );
    let what = Diagnostic::new(message, "look at whether it calls a dead tool again");
    card.fail(RECOVERY, json!({ "maximum": limit }), time, what);
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

fn met_by(run: &AgentRun, call: &FaultedCall) -> Message {
    met(run, call.call_index, call.fault.as_deref(), call.kind)
}

/// ``call 0 (`search`) met `hung-search` (hang)``.
fn met(run: &AgentRun, index: usize, fault: Option<&str>, kind: FaultKind) -> Message {
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
        None => "how the run ended is unknown",
    }
}

fn milliseconds(time: u64) -> String {
    format!("{} ms", whole(time))
}

// What a trace must tell for a gate on recovery, and does not.

/// What cannot be judged of one run under the block.
pub fn errors(run: &AgentRun, recovery: &RunRecovery) -> Vec<ScoreError> {
    let mut errors: Vec<ScoreError> = unknown_end(run, recovery).into_iter().collect();
    errors.extend(recovery.unsettled.first().map(|call| {
        let met = met(run, call.call_index, call.fault.as_deref(), call.kind);
        let (why, hint) = unsettled(call);
        ScoreError::new(HANG, sentence!("{met}, and {why}"), hint)
    }));
    errors
}

/// Why it is unknown whether the agent noticed in time, and what to do.
fn unsettled(call: &UnsettledCall) -> (String, String) {
    let untold = &call.untold;
    match (call.left_ms, call.watched_ms) {
        (Some(left), _) => (
            format!(
                "the client gave no sign that it noticed until it left {} after the call began, when the \
                 timeout budget was used up",
                milliseconds(left)
            ),
            "use a client that cancels what it gives up (notifications/cancelled), raise max_detection_ms beyond \
             that time, or score the trace of the agent itself, with detected_ms and recovered_ms in its marks"
                .to_owned(),
        ),
        (None, Some(watched)) => (
            format!(
                "the recording ends {} after the call began, before the timeout budget is used up",
                milliseconds(watched)
            ),
            "record until the client is done, or lower max_detection_ms".to_owned(),
        ),
        (None, None) => (
            format!("the trace does not have its {untold}, so what it did is unknown"),
            format!("add {untold} to the mark in faults, or detected_ms and recovered_ms by a real clock"),
        ),
    }
}

fn unknown_end(run: &AgentRun, recovery: &RunRecovery) -> Option<ScoreError> {
    match run.stop_reason() {
        // The marks tell by themselves, but for what a client does not show.
        None if recovery.is_watched() => unseen(run, recovery),
        None => Some(ScoreError::new(
            RECOVERED,
            "the trace does not say why the run ended",
            sentence!(
                "add conversation.stop_reason to the run: completed, turn_budget, token_budget, tool_call_budget, time_budget or error; a recording needs none where a fault struck (by a mock or a proxy)"
            ),
        )),
        Some(StopReason::Completed) if recovery.recovered.is_none() => Some(ScoreError::new(
            RECOVERED,
            "a call met a fault, and the trace has no final_response",
            "add final_response to the run; an empty text says that there was no reply",
        )),
        // Where the end is known, what else is unknown has an error of its own.
        Some(_) => None,
    }
}

/// What traffic does not show: whether the agent saw through an altered reply, or told its user of a failure.
fn unseen(run: &AgentRun, recovery: &RunRecovery) -> Option<ScoreError> {
    if recovery.recovered.is_some() {
        return None;
    }
    let call = recovery.calls.iter().find(|call| call.is_unknown())?;
    let met = met_by(run, call);
    let unseen = if call.kind.client_view() == ClientView::Altered {
        "the reply was altered, it was not asked for again, and a recording does not say whether the agent noticed"
    } else {
        "the agent gave up and called nothing more, and a recording does not say whether it told its user of the failure"
    };
    Some(ScoreError::new(
        RECOVERED,
        sentence!("{met}: {unseen}"),
        "score the trace of the agent itself, which has its final_response and stop_reason",
    ))
}

// The outcome of a call that met a fault while a real clock watched, in one sentence.

/// ``call 0 (`search`) met the fault hang: noticed after 3,001 ms, made again by call 1, recovered after
/// 3,040 ms``.
fn watched(run: &AgentRun, call: &FaultedCall) -> Message {
    let report = &call.report;
    let detection = report.time_to_detection_ms;
    let is_altered = call.kind.client_view() == ClientView::Altered;
    let is_waited_for = call.kind.client_view() == ClientView::Right
        && detection.is_some()
        && detection == report.time_to_recovery_ms;
    let noticed = match detection.map(milliseconds) {
        Some(time) if is_waited_for => format!("it was waited for, and answered after {time}"),
        Some(time) if is_altered => format!("an altered reply came after {time}"),
        Some(time) if call.is_left => {
            format!("noticed by the time the client left, after {time}")
        }
        Some(time) => format!("noticed after {time}"),
        None => {
            let watched = call.watched_ms.map_or_else(String::new, |time| {
                format!(" in the {} until the recording ended", milliseconds(time))
            });
            format!("never noticed{watched}")
        }
    };
    let repeated = call
        .repeated_by
        .map(|by| format!("made again by call {by}"));
    let recovered = match report.time_to_recovery_ms.map(milliseconds) {
        Some(time) => format!("recovered after {time}"),
        None if is_altered => "taken as it was, as far as can be seen".to_owned(),
        None if call.is_unknown() => {
            "and nothing was called any more, as far as can be seen".to_owned()
        }
        None => "not recovered".to_owned(),
    };
    let recovered = (!is_waited_for).then_some(recovered);
    let told: Vec<String> = [Some(noticed), repeated, recovered]
        .into_iter()
        .flatten()
        .collect();
    sentence!("{}: {}", met_by(run, call), told.join(", "))
}

/// Of a call that nobody had noticed when the recording ended, before its budget was used up, or of whose
/// client nothing is known but that it left.
fn never_noticed(run: &AgentRun, call: &UnsettledCall, watched_ms: u64) -> Message {
    let met = met(run, call.call_index, call.fault.as_deref(), call.kind);
    match call.left_ms.map(milliseconds) {
        Some(left) => {
            sentence!("{met}: no sign that it was noticed until the client left after {left}")
        }
        None => sentence!(
            "{met}: not noticed in the {} until the recording ended",
            milliseconds(watched_ms)
        ),
    }
}
