//! Which calls met a fault, as one thread's events tell it: a note comes before the call, and another
//! before the end of a connection.

use std::sync::Arc;
use std::time::Duration;

use crate::{CallTag, ErrorCategory, Event, EventKind, Heard, RequestKey, Strike};
use rustc_hash::FxHashMap;

use super::fact::{Fact, FactError};
use super::fault_metrics::{FaultMetrics, PlannedFaultsFact, SessionEndedByFaultFact, StrikeFact};

/// How many connections that a fault ended are remembered.
const SESSIONS_MAX: usize = 100_000;

/// What a thread knows of faults.
#[derive(Default)]
pub(super) struct StruckCalls {
    /// Whether the run has faults at all.
    pub is_watching: bool,
    /// Calls under way that were struck.
    calls: FxHashMap<RequestKey, StruckCall>,
    /// Sessions whose connection a fault ended.
    sessions: FxHashMap<u32, Arc<str>>,
}

/// A call under way that a fault struck.
struct StruckCall {
    fault: Arc<str>,
    tool: String,
    /// What the fault can do; unknown kinds can do anything.
    strike: Option<Strike>,
    /// Of its request, once that was seen.
    tag: Option<CallTag>,
    /// From when on it counted as hung, if it does.
    hung_from: Option<Duration>,
}

/// Whose an event is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Attribution {
    /// Of a fault: it is counted there.
    Fault,
    /// Of a call that was lost with a connection that a fault ended.
    Lost,
    /// Of the server.
    Server,
}

/// A call that a fault struck, and that counts as any other from now on: what became of it is none of
/// the fault's doing. Its request was not counted yet.
pub(super) struct Returned {
    pub tool: String,
    pub tag: CallTag,
}

impl StruckCall {
    fn of(note: StrikeFact) -> Self {
        let held_ms = note.held_ms.or(note.delay_ms).unwrap_or_default();
        let held = Duration::try_from_secs_f64(held_ms / 1e3).unwrap_or(Duration::MAX);
        Self {
            fault: note.fault.into(),
            tool: note.tool.unwrap_or_default(),
            strike: note.kind.parse().ok().map(|kind| Strike { kind, held }),
            tag: None,
            hung_from: None,
        }
    }

    fn explains(&self, category: ErrorCategory, took: Duration) -> bool {
        let strike = self.strike;
        strike.is_none_or(|strike| strike.explains(category, took, self.hung_from))
    }

    fn explains_wait(&self, waited: Duration) -> bool {
        let strike = self.strike;
        strike.is_none_or(|strike| strike.explains_wait(waited, self.hung_from))
    }

    /// Whether the fault lets the server answer.
    fn may_be_answered(&self) -> bool {
        self.strike
            .is_some_and(|strike| matches!(strike.kind.heard(), Heard::Right | Heard::Altered))
    }

    fn give_back(self, metrics: &mut FaultMetrics, at: Duration) -> Option<Returned> {
        let struck = metrics.of(&self.fault);
        struck.servers_own += 1;
        struck.release(at);
        let tool = self.tool;
        self.tag.map(|tag| Returned { tool, tag })
    }
}

impl StruckCalls {
    /// Of a run with faults or without, as far as is known.
    pub fn new(is_watching: bool) -> Self {
        Self {
            is_watching,
            ..Self::default()
        }
    }

    /// Takes up what an event says of faults, and tells whose it is, and whether its call is no longer
    /// one of a fault.
    pub fn sort(
        &mut self,
        event: &Event<'_>,
        metrics: &mut FaultMetrics,
    ) -> Result<(Attribution, Option<Returned>), FactError> {
        let owner = match event.kind {
            EventKind::ScenarioEvent { name, data, .. } => {
                self.take_note(name, data, event.at, metrics)?
            }
            _ if !self.is_watching => Attribution::Server,
            EventKind::Request { request, tag, .. } => match self.calls.get_mut(&request) {
                Some(call) => {
                    call.tag = Some(tag);
                    Attribution::Fault
                }
                None => Attribution::Server,
            },
            EventKind::Hang { request, hung_for } | EventKind::Deadlock { request, hung_for } => {
                return Ok(self.wait(event, request, hung_for, metrics));
            }
            EventKind::Response {
                request,
                tool,
                duration,
                tag,
                ..
            } => {
                let latency = nanoseconds(duration + tag.wait);
                if let Some(call) = self.calls.remove(&request) {
                    let struck = metrics.of(&call.fault);
                    struck.latency_ns.record(latency);
                    struck.release(event.at);
                    return Ok((Attribution::Fault, None));
                }
                if let Some(tool) = tool {
                    let stretch = metrics.stretch(tag.phase, event.at, tool);
                    stretch.latency_ns.record(latency);
                }
                Attribution::Server
            }
            EventKind::Error { .. } => return Ok(self.fail(event, metrics)),
            EventKind::Crash { .. } | EventKind::ProcessSample { .. } => Attribution::Server,
        };
        Ok((owner, None))
    }

    /// A call has had no answer for too long.
    fn wait(
        &mut self,
        event: &Event<'_>,
        request: RequestKey,
        waited: Duration,
        metrics: &mut FaultMetrics,
    ) -> (Attribution, Option<Returned>) {
        let Some(call) = self.calls.get_mut(&request) else {
            return (Attribution::Server, None);
        };
        let is_first = call.hung_from.is_none();
        call.hung_from = call.hung_from.or(Some(waited));
        if call.explains_wait(waited) {
            // One that may be answered is counted when it is known whom it waited for.
            if is_first && !call.may_be_answered() {
                metrics.of(&call.fault).hung += 1;
            }
            return (Attribution::Fault, None);
        }
        let call = self.calls.remove(&request);
        let returned = call.and_then(|call| call.give_back(metrics, event.at));
        (Attribution::Server, returned)
    }

    /// A call failed.
    fn fail(
        &mut self,
        event: &Event<'_>,
        metrics: &mut FaultMetrics,
    ) -> (Attribution, Option<Returned>) {
        let EventKind::Error {
            request,
            tool,
            duration,
            failure,
            tag,
            ..
        } = event.kind
        else {
            return (Attribution::Server, None);
        };
        let category = failure.category;
        let is_cut = matches!(category, ErrorCategory::Crash | ErrorCategory::Disconnected);
        let ended_by = self.sessions.get(&request.session).filter(|_| is_cut);
        let mut returned = None;
        if let Some(call) = self.calls.remove(&request) {
            if call.explains(category, duration) || ended_by.is_some() {
                let struck = metrics.of(&call.fault);
                *struck.errors.entry(category).or_default() += 1;
                struck.hung += u64::from(call.hung_from.is_some() && call.may_be_answered());
                struck.release(event.at);
                return (Attribution::Fault, None);
            }
            returned = call.give_back(metrics, event.at);
        }
        let Some(tool) = tool.filter(|_| category != ErrorCategory::Cancelled) else {
            return (Attribution::Server, returned);
        };
        let stretch = metrics.stretch(tag.phase, event.at, tool);
        if let Some(fault) = ended_by {
            stretch.lost += 1;
            metrics.of(fault).calls_lost += 1;
            (Attribution::Lost, returned)
        } else {
            stretch.failed += 1;
            (Attribution::Server, returned)
        }
    }

    fn take_note(
        &mut self,
        name: &str,
        data: &str,
        at: Duration,
        metrics: &mut FaultMetrics,
    ) -> Result<Attribution, FactError> {
        match name {
            PlannedFaultsFact::NAME => self.is_watching = true,
            // Without a plan of faults it is a recording, whose calls are all of interest.
            StrikeFact::NAME if self.is_watching => {
                let strike = StrikeFact::parse(data)?;
                let tool = strike.tool.as_deref().unwrap_or_default();
                metrics.of(&strike.fault).strike(at, tool);
                let request = RequestKey {
                    session: strike.session,
                    id: strike.request_id,
                };
                self.calls.insert(request, StruckCall::of(strike));
                return Ok(Attribution::Fault);
            }
            SessionEndedByFaultFact::NAME => {
                let ended = SessionEndedByFaultFact::parse(data)?;
                let struck = metrics.of(&ended.fault);
                struck.connections_ended += 1;
                struck.crashes += u64::from(ended.crash);
                if self.sessions.len() < SESSIONS_MAX {
                    self.sessions.insert(ended.session, ended.fault.into());
                } else {
                    metrics.sessions_forgotten += 1;
                }
                return Ok(Attribution::Fault);
            }
            _ => {}
        }
        Ok(Attribution::Server)
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
