//! Which calls met a fault, as one thread's events tell it: a note comes before the call, and another
//! before the end of a connection.

use std::sync::Arc;
use std::time::Duration;

use mcprove_score::trace::{ErrorCategory, Event, EventKind, RequestKey};
use rustc_hash::FxHashMap;

use super::fault_metrics::{
    EndedNote, FAULT, FAULT_ENDED_SESSION, FAULTS, FaultMetrics, StrikeNote,
};

/// How many connections that a fault ended are remembered.
const SESSIONS_MAX: usize = 100_000;

/// What a thread knows of faults.
#[derive(Default)]
pub(super) struct StruckCalls {
    /// Whether the run has faults at all.
    pub is_watching: bool,
    /// Calls under way that were struck, and by which fault.
    calls: FxHashMap<RequestKey, Arc<str>>,
    /// Sessions whose connection a fault ended.
    sessions: FxHashMap<u32, Arc<str>>,
}

/// Whose an event is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Of a fault: it is counted there.
    Fault,
    /// Of a call that was lost with a connection that a fault ended.
    Lost,
    /// Of the server.
    Server,
}

impl StruckCalls {
    /// Of a run with faults or without, as far as is known.
    pub fn new(is_watching: bool) -> Self {
        Self {
            is_watching,
            ..Self::default()
        }
    }

    /// Takes up what an event says of faults, and tells whose it is.
    pub fn sort(&mut self, event: &Event<'_>, metrics: &mut FaultMetrics) -> Owner {
        match event.kind {
            EventKind::ScenarioEvent { name, data, .. } => {
                self.take_note(name, data, event.at, metrics)
            }
            _ if !self.is_watching => Owner::Server,
            EventKind::Request { request, .. } | EventKind::Deadlock { request, .. } => {
                self.owner(request)
            }
            EventKind::Response {
                request,
                tool,
                duration,
                tag,
                ..
            } => {
                let latency = nanoseconds(duration + tag.wait);
                if let Some(fault) = self.calls.remove(&request) {
                    metrics.of(&fault).latency_ns.record(latency);
                    return Owner::Fault;
                }
                if let Some(tool) = tool {
                    let stretch = metrics.stretch(tag.phase, event.at, tool);
                    stretch.latency_ns.record(latency);
                }
                Owner::Server
            }
            EventKind::Error {
                request,
                tool,
                failure,
                tag,
                ..
            } => {
                let category = failure.category;
                if let Some(fault) = self.calls.remove(&request) {
                    *metrics.of(&fault).errors.entry(category).or_default() += 1;
                    return Owner::Fault;
                }
                let Some(tool) = tool.filter(|_| category != ErrorCategory::Cancelled) else {
                    return Owner::Server;
                };
                let is_cut = matches!(category, ErrorCategory::Crash | ErrorCategory::Disconnected);
                let ended_by = self.sessions.get(&request.session).filter(|_| is_cut);
                let stretch = metrics.stretch(tag.phase, event.at, tool);
                if let Some(fault) = ended_by {
                    stretch.lost += 1;
                    metrics.of(fault).calls_lost += 1;
                    Owner::Lost
                } else {
                    stretch.failed += 1;
                    Owner::Server
                }
            }
            EventKind::Hang { request, .. } => {
                if let Some(fault) = self.calls.get(&request) {
                    metrics.of(fault).hung += 1;
                }
                self.owner(request)
            }
            EventKind::Crash { .. } | EventKind::ProcessSample { .. } => Owner::Server,
        }
    }

    fn owner(&self, request: RequestKey) -> Owner {
        if self.calls.contains_key(&request) {
            Owner::Fault
        } else {
            Owner::Server
        }
    }

    fn take_note(
        &mut self,
        name: &str,
        data: &str,
        at: Duration,
        metrics: &mut FaultMetrics,
    ) -> Owner {
        match name {
            FAULTS => {
                self.is_watching = true;
                Owner::Server
            }
            // Without a plan of faults it is a recording, whose calls are all of interest.
            FAULT if self.is_watching => {
                if let Ok(note) = serde_json::from_str::<StrikeNote>(data) {
                    metrics.of(&note.fault).strike(at, &note.tool);
                    let request = RequestKey {
                        session: note.session,
                        id: note.request_id,
                    };
                    self.calls.insert(request, note.fault.into());
                }
                Owner::Fault
            }
            FAULT_ENDED_SESSION => {
                if let Ok(note) = serde_json::from_str::<EndedNote>(data) {
                    let struck = metrics.of(&note.fault);
                    struck.connections_ended += 1;
                    struck.crashes += u64::from(note.crash);
                    if self.sessions.len() < SESSIONS_MAX {
                        self.sessions.insert(note.session, note.fault.into());
                    }
                }
                Owner::Fault
            }
            _ => Owner::Server,
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
