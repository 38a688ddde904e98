//! What a client did after one call that a fault struck.

use std::collections::BTreeSet;
use std::time::Duration;

use mcprove_settings::quantity::as_milliseconds;
use mcprove_trace::{Execution, FaultKind, Heard, Special};

use super::{FaultedCallReport, NextStep, SILENCE_MIN, SeenCall, SeenFault};

/// How many calls after a faulted one are looked at.
const FOLLOWERS_MAX: usize = 1_000;

pub fn follow<'a>(
    call: &SeenCall,
    fault: &SeenFault,
    later: impl Iterator<Item = &'a SeenCall>,
    repeatable: &BTreeSet<String>,
) -> FaultedCallReport {
    let known = [call.ended, call.cancelled].into_iter().flatten().min();
    let from = known.unwrap_or(call.at + SILENCE_MIN);
    let mut same_tool = None;
    let mut other_tool = None;
    let mut retry = None;
    let later = later.filter(|follower| follower.at >= from);
    for follower in later.take(FOLLOWERS_MAX) {
        if follower.tool != call.tool {
            other_tool = other_tool.or(Some(follower));
        } else if follower.identity != call.identity {
            same_tool = same_tool.or(Some(follower));
        } else {
            retry = Some(follower);
            break;
        }
    }
    let is_write = !repeatable.contains(&*call.tool);
    let is_lost = matches!(
        fault.kind.special(),
        Special::LosesRequest | Special::LosesReply
    );
    let took_it = is_answered_in_the_end(fault.kind) && is_answered_in_time(call);
    let (next, follower) = match (retry, same_tool, other_tool) {
        (Some(retry), ..) if is_lost && is_write => (NextStep::RepeatedLostWrite, Some(retry)),
        (Some(retry), ..) if !took_it => (NextStep::Retried, Some(retry)),
        _ if took_it => (NextStep::TookTheAnswer, None),
        (_, Some(same), _) => (NextStep::OtherArguments, Some(same)),
        (_, _, Some(other)) => (NextStep::OtherTool, Some(other)),
        _ if call.cancelled.is_some() => (NextStep::Cancelled, None),
        _ => (NextStep::GaveUp, None),
    };
    let since = |time: Duration| as_milliseconds(time.saturating_sub(call.at));
    let reached_server = (next == NextStep::RepeatedLostWrite).then(|| {
        let again = retry.is_some_and(|retry| {
            let fault = retry.fault.as_ref();
            fault.is_none_or(|fault| reaches_server(fault.kind))
        });
        u64::from(reaches_server(fault.kind)) + u64::from(again)
    });
    FaultedCallReport {
        session: call.session,
        tool: call.tool.to_string(),
        fault: fault.name.clone(),
        kind: fault.kind,
        at_ms: as_milliseconds(call.at),
        next,
        next_after_ms: follower.map(|follower| since(follower.at)),
        cancelled_after_ms: call.cancelled.map(since),
        next_tool: follower
            .filter(|_| next == NextStep::OtherTool)
            .map(|follower| follower.tool.to_string()),
        reached_server,
    }
}

/// Whether a call that met such a fault still gets its own answer, if one waits for it.
fn is_answered_in_the_end(kind: FaultKind) -> bool {
    kind.is_fault() && kind.heard() == Heard::Right
}

/// Whether the last word came while the client still waited for it: who has cancelled drops what comes.
fn is_answered_in_time(call: &SeenCall) -> bool {
    let cancelled = call.cancelled;
    let is_in_time = |ended| cancelled.is_none_or(|cancelled| ended <= cancelled);
    call.ended.is_some_and(is_in_time)
}

/// Whether a call that met such a fault reached the server.
fn reaches_server(kind: FaultKind) -> bool {
    kind.executes() != Execution::Never
}
