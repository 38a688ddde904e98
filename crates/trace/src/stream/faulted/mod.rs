//! Which calls met a fault, as one thread's events tell it: a note comes before the call, and another
//! before the end of a connection.

use rustc_hash::FxHashMap;

use super::fault_metrics::{FaultMetrics, PlannedFaultsFact, SessionEndedByFaultFact, StrikeFact};
use super::metrics::nanoseconds;
use crate::prelude::*;
use crate::{ClientView, Strike};

/// How many connections that a fault ended are remembered.
const SESSIONS_MAX: usize = 100_000;

/// What a thread knows of faults.
#[derive(Default)]
pub struct FaultedCalls {
    /// Whether the run has faults at all.
    pub is_watching: bool,
    /// A call that a fault struck, and that counts as any other from now on: what became of it is none of
    /// the fault's doing. Its tool and its tag; its request was not counted yet.
    pub returned: Option<(String, CallTag)>,
    /// Calls under way that were struck.
    calls: FxHashMap<RequestKey, FaultedRequest>,
    /// Sessions whose connection a fault ended, and the fault.
    sessions: FxHashMap<u32, String>,
}

/// A call under way that a fault struck.
struct FaultedRequest {
    fault: String,
    tool: String,
    /// What the fault can do; one of an unknown kind can do anything.
    strike: Option<Strike>,
    /// Of its request, once that was seen.
    tag: Option<CallTag>,
    /// From when on it counted as hung, if it does.
    hung_from: Option<Duration>,
}

/// Whose an event is.
#[derive(Debug, PartialEq, Eq)]
pub enum Attribution {
    /// Of a fault: it is counted there.
    Fault,
    /// Of a call that was lost with a connection that a fault ended.
    Lost,
    Server,
}

impl FaultedRequest {
    fn of(note: StrikeFact) -> Self {
        let held_ms = note.held_ms.or(note.delay_ms).unwrap_or_default();
        let held = Duration::try_from_secs_f64(held_ms / 1e3).unwrap_or(Duration::MAX);
        Self {
            fault: note.fault,
            tool: note.tool.unwrap_or_default(),
            strike: note.kind.parse().ok().map(|kind| Strike { kind, held }),
            tag: None,
            hung_from: None,
        }
    }

    /// Whether the fault lets the server answer.
    fn may_be_answered(&self) -> bool {
        self.strike.is_some_and(|strike| {
            matches!(
                strike.kind.client_view(),
                ClientView::Right | ClientView::Altered
            )
        })
    }
}

impl FaultedCalls {
    /// Of a run with faults or without, as far as is known.
    pub fn new(is_watching: bool) -> Self {
        Self {
            is_watching,
            ..Self::default()
        }
    }

    /// Takes up what an event says of faults, and tells whose it is.
    pub fn sort(
        &mut self,
        event: &Event<'_>,
        metrics: &mut FaultMetrics,
    ) -> FactResult<Attribution> {
        let at = event.at;
        Ok(match event.kind {
            EventKind::ScenarioEvent { name, data, .. } => {
                return self.take_note(name, data, at, metrics);
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
                self.wait(at, request, hung_for, metrics)
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
                    struck.release(at);
                    return Ok(Attribution::Fault);
                }
                if let Some(tool) = tool {
                    metrics
                        .stretch(tag.phase, at, tool)
                        .latency_ns
                        .record(latency);
                }
                Attribution::Server
            }
            EventKind::Error { .. } => self.fail(event, metrics),
            EventKind::Crash { .. } | EventKind::ProcessSample { .. } => Attribution::Server,
        })
    }

    /// A call has had no answer for too long.
    fn wait(
        &mut self,
        at: Duration,
        request: RequestKey,
        waited: Duration,
        metrics: &mut FaultMetrics,
    ) -> Attribution {
        let Some(mut call) = self.calls.remove(&request) else {
            return Attribution::Server;
        };
        let is_first = call.hung_from.is_none();
        call.hung_from = call.hung_from.or(Some(waited));
        let from = call.hung_from;
        let explains = |strike: Strike| strike.explains_wait(waited, from);
        if !call.strike.is_none_or(explains) {
            self.give_back(call, metrics, at);
            return Attribution::Server;
        }
        // One that may be answered is counted when it is known whom it waited for.
        if is_first && !call.may_be_answered() {
            metrics.of(&call.fault).hung += 1;
        }
        self.calls.insert(request, call);
        Attribution::Fault
    }

    fn fail(&mut self, event: &Event<'_>, metrics: &mut FaultMetrics) -> Attribution {
        let EventKind::Error {
            request,
            tool,
            duration,
            failure,
            tag,
            ..
        } = event.kind
        else {
            return Attribution::Server;
        };
        let category = failure.category;
        let is_cut = matches!(category, ErrorCategory::Crash | ErrorCategory::Disconnected);
        let call = self.calls.remove(&request);
        let ended_by = self.sessions.get(&request.session).filter(|_| is_cut);
        if let Some(call) = &call
            && (call
                .strike
                .is_none_or(|it| it.explains(category, duration, call.hung_from))
                || ended_by.is_some())
        {
            let struck = metrics.of(&call.fault);
            *struck.errors.entry(category).or_default() += 1;
            struck.hung += u64::from(call.hung_from.is_some() && call.may_be_answered());
            struck.release(event.at);
            return Attribution::Fault;
        }
        let mut owner = Attribution::Server;
        if let Some(tool) = tool.filter(|_| category != ErrorCategory::Cancelled) {
            let stretch = metrics.stretch(tag.phase, event.at, tool);
            if let Some(fault) = ended_by {
                stretch.lost += 1;
                metrics.of(fault).calls_lost += 1;
                owner = Attribution::Lost;
            } else {
                stretch.failed += 1;
            }
        }
        if let Some(call) = call {
            self.give_back(call, metrics, event.at);
        }
        owner
    }

    fn give_back(&mut self, call: FaultedRequest, metrics: &mut FaultMetrics, at: Duration) {
        let struck = metrics.of(&call.fault);
        struck.servers_own += 1;
        struck.release(at);
        self.returned = Some(call.tool).zip(call.tag);
    }

    fn take_note(
        &mut self,
        name: &str,
        data: &str,
        at: Duration,
        metrics: &mut FaultMetrics,
    ) -> FactResult<Attribution> {
        match name {
            // Without a plan of faults it is a recording, whose calls are all of interest.
            StrikeFact::NAME if self.is_watching => {
                let strike = StrikeFact::parse(data)?;
                let tool = strike.tool.as_deref().unwrap_or_default();
                metrics.of(&strike.fault).strike(at, tool);
                let request = RequestKey {
                    session: strike.session,
                    id: strike.request_id,
                };
                self.calls.insert(request, FaultedRequest::of(strike));
            }
            SessionEndedByFaultFact::NAME => {
                let ended = SessionEndedByFaultFact::parse(data)?;
                let struck = metrics.of(&ended.fault);
                struck.connections_ended += 1;
                struck.crashes += u64::from(ended.crash);
                if self.sessions.len() < SESSIONS_MAX {
                    self.sessions.insert(ended.session, ended.fault);
                } else {
                    metrics.sessions_forgotten += 1;
                }
            }
            _ => {
                self.is_watching |= name == PlannedFaultsFact::NAME;
                return Ok(Attribution::Server);
            }
        }
        Ok(Attribution::Fault)
    }
}

#[cfg(test)]
mod tests;
