//! What a trace must tell for a gate on recovery, and does not.

use super::gate::{met, met_by, milliseconds};
use super::{HANG, RECOVERED, RunRecovery};
use crate::prelude::*;

/// What cannot be judged of one run under the block.
pub fn errors(run: &AgentRun, recovery: &RunRecovery) -> Vec<ScoreError> {
    let mut errors: Vec<ScoreError> = unknown_end(run, recovery).into_iter().collect();
    errors.extend(recovery.unsettled.first().map(|call| {
        let met = met(run, call.call_index, call.fault.as_deref(), call.kind);
        let untold = &call.untold;
        let (why, hint) = match (call.left_ms, call.watched_ms) {
            (Some(left), _) => (
                format!(
                    "the client gave no sign that it noticed until it left {} after the call began, when the timeout budget was used up: it may have noticed in time, or not",
                    milliseconds(left)
                ),
                "use a client that cancels what it gives up (notifications/cancelled), raise max_detection_ms beyond that time, or score the trace of the agent itself, with detected_ms and recovered_ms in its marks".to_owned(),
            ),
            (None, Some(watched)) => (
                format!(
                    "the recording ends {} after the call began, before the timeout budget is used up",
                    milliseconds(watched)
                ),
                "record until the client is done, or lower max_detection_ms".to_owned(),
            ),
            (None, None) => (
                format!("the trace does not have its {untold}, so that nobody knows what it did"),
                format!(
                    "add {untold} to the mark in faults, or detected_ms and recovered_ms by a real clock"
                ),
            ),
        };
        ScoreError::new(HANG, sentence!("{met}, and {why}"), hint)
    }));
    errors
}

fn unknown_end(run: &AgentRun, recovery: &RunRecovery) -> Option<ScoreError> {
    match run.stop_reason() {
        // The marks tell by themselves, but for what a client does not show.
        None if recovery.is_watched() => unseen(run, recovery),
        None => Some(ScoreError::new(
            RECOVERED,
            "the trace does not say why the run ended",
            sentence!(
                "add conversation.stop_reason to the run: completed, turn_budget, token_budget, tool_call_budget, time_budget or error; a recording needs none where a fault struck (by `mcprove mock` or `mcprove proxy`)"
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
    let unseen = if call.kind.heard() == Heard::Altered {
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
