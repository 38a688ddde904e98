//! Injected faults, noted where every event of the session is.

use std::sync::Arc;

use mcprove_settings::quantity::as_milliseconds;
use mcprove_trace::stream::{FAULT, FAULT_ENDED_SESSION, Recorder};
use serde_json::json;

use super::{FaultEvent, FaultHandler};

/// Notes what faults do to a session.
pub(super) fn noting(recorder: &Arc<Recorder>, session: u32) -> FaultHandler {
    let recorder = Arc::clone(recorder);
    Arc::new(move |event| note(&recorder, session, event))
}

fn note(recorder: &Recorder, session: u32, event: FaultEvent<'_>) {
    if !recorder.is_observed() {
        return;
    }
    match event {
        FaultEvent::Struck {
            request,
            tool,
            server,
            injection,
        } => {
            let fault = injection.fault();
            let mut data = json!({
                "session": session,
                "request_id": request,
                "fault": fault.name,
                "kind": fault.kind.name(),
                "server": server,
                "tool": tool,
            });
            if let Some(fields) = data.as_object_mut() {
                if let Some(delay) = injection.delay() {
                    fields.insert("delay_ms".to_owned(), as_milliseconds(delay).into());
                }
                let held = injection.as_strike().held;
                if injection.delay().is_none() && !held.is_zero() {
                    fields.insert("held_ms".to_owned(), as_milliseconds(held).into());
                }
                if let Some(failures) = injection.strikes_max() {
                    fields.insert("failures".to_owned(), failures.into());
                }
            }
            recorder.note(FAULT, &fault.name, &data);
        }
        FaultEvent::Ended { fault, is_crash } => {
            let data = json!({ "session": session, "fault": fault, "crash": is_crash });
            recorder.note(FAULT_ENDED_SESSION, fault, &data);
        }
    }
}
