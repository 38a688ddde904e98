//! What came of a call that met a fault while a real clock watched, in one sentence.

use super::gate::{met, met_by, milliseconds};
use super::{FaultedCall, UnsettledCall};
use crate::prelude::*;

/// ``call 0 (`search`) met the fault hang: noticed after 3,001 ms, made again by call 1, recovered after
/// 3,040 ms``.
pub fn watched(run: &AgentRun, call: &FaultedCall) -> Message {
    let report = &call.report;
    let detection = report.time_to_detection_ms;
    let is_altered = call.kind.heard() == Heard::Altered;
    let is_waited_for = call.kind.heard() == Heard::Right
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
pub fn never_noticed(run: &AgentRun, call: &UnsettledCall, watched_ms: u64) -> Message {
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
