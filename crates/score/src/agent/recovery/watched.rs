//! What came of a call that met a fault while a real clock watched, in one sentence.

use super::gate::{met, met_by, milliseconds};
use super::{FaultedCall, UnsettledCall};
use crate::prelude::*;

/// ``call 0 (`search`) met the fault hang: noticed after 3,001 ms, made again by call 1, recovered after
/// 3,040 ms``.
pub fn watched(run: &AgentRun, call: &FaultedCall) -> String {
    let report = &call.report;
    let detection = report.time_to_detection_ms;
    let mut told = Vec::new();
    let is_waited_for = detection.is_some() && detection == report.time_to_recovery_ms;
    match (detection.map(milliseconds), call.kind.heard()) {
        (Some(time), Heard::Right) if is_waited_for => {
            told.push(format!("it was waited for, and answered after {time}"));
        }
        (Some(time), Heard::Altered) => told.push(format!("an altered reply came after {time}")),
        (Some(time), _) if call.is_left => {
            told.push(format!("noticed by the time the client left, after {time}"));
        }
        (Some(time), _) => told.push(format!("noticed after {time}")),
        (None, _) => {
            let watched = call.watched_ms.map_or_else(String::new, |time| {
                format!(" in the {} until the recording ended", milliseconds(time))
            });
            told.push(format!("never noticed{watched}"));
        }
    }
    told.extend(
        call.repeated_by
            .map(|by| format!("made again by call {by}")),
    );
    match report.time_to_recovery_ms.map(milliseconds) {
        _ if is_waited_for && call.kind.heard() == Heard::Right => {}
        Some(time) => told.push(format!("recovered after {time}")),
        None if call.kind.heard() == Heard::Altered => {
            told.push("taken as it was, as far as can be seen".to_owned());
        }
        None if call.is_unknown() => {
            told.push("and nothing was called any more, as far as can be seen".to_owned());
        }
        None => told.push("not recovered".to_owned()),
    }
    format!("{}: {}", met_by(run, call), told.join(", "))
}

/// Of a call that nobody had noticed when the recording ended, before its budget was used up, or of whose
/// client nothing is known but that it left.
pub fn never_noticed(run: &AgentRun, call: &UnsettledCall, watched_ms: u64) -> String {
    let met = met(run, call.call_index, call.fault.as_deref(), call.kind);
    match call.left_ms.map(milliseconds) {
        Some(left) => {
            format!("{met}: no sign that it was noticed until the client left after {left}")
        }
        None => format!(
            "{met}: not noticed in the {} until the recording ended",
            milliseconds(watched_ms)
        ),
    }
}
