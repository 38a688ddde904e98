//! The connection is dropped in the middle of calls and a new one made, again and again. A server
//! has to let go of what was dropped, and to serve the next session as if nothing had happened.
//!
//! A dropped connection is over in both directions at once, or its input is closed while the
//! answers are still read: the two in turn, and each after a different time.

use super::prelude::*;
use super::session_end::{self, ExitStyle, Focus, SessionEnds, Visit};

/// The phase of the calls that have to succeed.
const PHASE: u16 = 1;
/// The phase of the calls that are dropped.
const DROPPED_PHASE: u16 = 2;
/// How long after the calls were sent the connection is dropped, one after the other.
const DROP_AFTER_MS: [u64; 4] = [1, 0, 5, 20];
/// So many sessions in a row that cannot be opened: the server is gone.
const OPENS_MAX: u32 = 2;
/// The pause before a session is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// The connection is dropped in the middle of calls, and a new one made, again and again.
#[data(Settings)]
pub struct Reconnect {
    /// How often the connection is dropped.
    #[setting(default = 10)]
    pub iterations: u32,
    /// Calls in flight when it is dropped.
    #[setting(like = Sustained::CONCURRENT, default = 5)]
    pub concurrent: u32,
}

impl Reconnect {
    /// Drops the connection of `visit` while calls are in flight on it.
    async fn drop_connection(
        &self,
        ends: &SessionEnds,
        visit: &Visit,
        reference: &Reference,
        iteration: u32,
    ) {
        let style = ExitStyle::alternate(iteration);
        ends.settle(visit, style).await;
        let session = &visit.connection.session;
        let request = &reference.call.request;
        let calls: Vec<_> = (0..self.concurrent)
            .filter_map(|_| session.start_as(request, &in_phase(DROPPED_PHASE)).ok())
            .collect();
        let place = iteration as usize % DROP_AFTER_MS.len();
        tokio::time::sleep(Duration::from_millis(DROP_AFTER_MS[place])).await;
        // A server may handle one call at a time.
        let work = reference.duration * self.concurrent;
        ends.leave_at_work(visit, style, work).await;
        // Only now, for a call that is dropped tells the server that it is cancelled.
        drop(calls);
    }
}

/// Opens the next session and makes a call that has to succeed; none when the server is gone.
async fn reopen(context: &RunContext, ends: &SessionEnds, reference: &Reference) -> Option<Visit> {
    for _ in 0..OPENS_MAX {
        if !context.stop.is_running() {
            return None;
        }
        let opening = ends.open_and_call(context.options.protocol, reference, PHASE);
        if let Some(visit) = opening.await {
            return Some(visit);
        }
        tokio::time::sleep(PAUSE).await;
    }
    ends.note_gone();
    None
}

impl ScenarioType for Reconnect {
    fn questions(&self) -> &'static [&'static str] {
        &[session_end::NEW_SESSIONS]
    }

    fn drive<'a>(&'a self, context: &'a RunContext) -> Steps<'a> {
        Box::pin(async move {
            let ends = SessionEnds::new(context);
            let first = ends.open_first().await?;
            let phases = [
                context.phase(PHASE, "reconnect", 1, true),
                context.phase(DROPPED_PHASE, "dropped", self.concurrent, false),
            ];
            let found = reference::find_first_call(context, &first.connection, PHASE).await?;
            let mut current = Some(first);
            if let Some(reference) = &found {
                for iteration in context.rounds(self.iterations) {
                    let Some(visit) = current.take() else {
                        break;
                    };
                    self.drop_connection(&ends, &visit, reference, iteration)
                        .await;
                    if ends.is_clear() {
                        break;
                    }
                    current = reopen(context, &ends, reference).await;
                }
            }
            if let Some(visit) = current {
                ends.leave(&visit, ExitStyle::Orderly).await;
            }
            ends.finish().await;
            context.end_phases(phases);
            Ok(())
        })
    }

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> FactResult {
        session_end::conclude(facts, report, Focus::Recovery)
    }

    fn judging(&self) -> Judging {
        Judging {
            failures_told_by: Some(session_end::NEW_SESSIONS),
            ..Judging::leaving_calls()
        }
    }

    fn sections(&self, report: &Report) -> Vec<Section> {
        session_end::sections(report)
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![
            counted(self.iterations.into(), "drop"),
            concurrent(self.concurrent),
        ]
    }
}
