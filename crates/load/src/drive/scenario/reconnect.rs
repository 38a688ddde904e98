//! The connection is dropped in the middle of calls and a new one made, again and again. A server
//! has to let go of what was dropped, and to serve the next session as if nothing had happened.
//!
//! A dropped connection is over in both directions at once, or its input is closed while the
//! answers are still read: the two in turn, and each after a different time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcprove_client::session::{Call, Start};
use mcprove_document::figure::counted;
use mcprove_settings::setting::Settings;
use mcprove_trace::BoxFuture;
use mcprove_trace::stream::Recorder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::departure::{self, Departures, Visit, Way};
use super::reference::{self, Reference};
use super::{Judging, ScenarioType, Shape, Steps, Work, concurrent};
use crate::drive::definition::LoadSettings;
use crate::drive::error::StageError;
use crate::drive::stage::{Connection, PhaseNote, Stage, since_start};
use crate::run::assemble::Assembly;
use crate::run::report::Report;
use crate::run::session_ends::Focus;

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

/// What it finds.
pub(super) const EXPLANATION: &str =
    "connections dropped in the middle of calls: leftover state and processes";

/// The connection is dropped in the middle of calls, and a new one made, again and again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Settings)]
pub struct Reconnect {
    /// How often the connection is dropped.
    #[setting(default = 10)]
    pub iterations: u32,
    /// Calls in flight when it is dropped.
    #[setting(default = 5, elsewhere = "ignored")]
    pub concurrent: u32,
}

impl Reconnect {
    async fn take(&self, stage: &Arc<Stage>, recorder: &Arc<Recorder>) -> Result<(), StageError> {
        let departures = Departures::default();
        let first = departures.open_first(stage, recorder).await?;
        let from = since_start(&stage.stream, Instant::now());
        let found = reference::find_first_call(stage, recorder, &first.connection, PHASE).await?;
        let mut current = Some(first);
        if let Some(reference) = &found {
            for iteration in 0..self.iterations {
                let Some(visit) = current.take() else {
                    break;
                };
                self.drop_connection(stage, recorder, &departures, &visit, reference, iteration)
                    .await;
                stage.progress(iteration + 1, self.iterations);
                if !stage.stop.is_running() || departures.is_clear() {
                    break;
                }
                current = reopen(stage, recorder, &departures, reference).await;
            }
        }
        if let Some(visit) = current {
            departures.settle(stage, &visit, Way::Orderly).await;
            departures.leave(recorder, &visit, Way::Orderly).await;
        }
        departures.finish(stage, recorder).await;
        let until = since_start(&stage.stream, Instant::now());
        for (index, name, concurrent, measured) in [
            (PHASE, "reconnect", 1, true),
            (DROPPED_PHASE, "dropped", self.concurrent, false),
        ] {
            PhaseNote {
                index,
                name,
                concurrent,
                rate: None,
                measured,
                from,
                until: Some(until),
            }
            .note(recorder);
        }
        Ok(())
    }

    /// Drops the connection of `visit` while calls are in flight on it.
    async fn drop_connection(
        &self,
        stage: &Stage,
        recorder: &Recorder,
        departures: &Departures,
        visit: &Visit,
        reference: &Reference,
        iteration: u32,
    ) {
        let way = Way::alternate(iteration);
        departures.settle(stage, visit, way).await;
        let calls = self.start_calls(&visit.connection, reference);
        let place = iteration as usize % DROP_AFTER_MS.len();
        let pause = DROP_AFTER_MS.get(place).copied().unwrap_or_default();
        tokio::time::sleep(Duration::from_millis(pause)).await;
        departures.leave(recorder, visit, way).await;
        // Only now, for a call that is dropped tells the server that it is cancelled.
        drop(calls);
    }

    /// Sends the calls that are in flight when the connection is dropped.
    fn start_calls(&self, connection: &Connection, reference: &Reference) -> Vec<Call> {
        let start = Start {
            phase: DROPPED_PHASE,
            ..Start::default()
        };
        let request = &reference.ready.request;
        (0..self.concurrent)
            .filter_map(|_| connection.session.start_as(request, &start).ok())
            .collect()
    }
}

/// Opens the next session and makes a call that has to succeed; none when the server is gone.
async fn reopen(
    stage: &Arc<Stage>,
    recorder: &Arc<Recorder>,
    departures: &Departures,
    reference: &Reference,
) -> Option<Visit> {
    for _ in 0..OPENS_MAX {
        if !stage.stop.is_running() {
            return None;
        }
        if let Some(visit) = departures.open(stage, recorder).await {
            let start = Start {
                phase: PHASE,
                ..Start::default()
            };
            let session = &visit.connection.session;
            // In its proper order: what comes too early is for another scenario.
            let listed = session.list_tools().await;
            let outcome = session.request_as(&reference.ready.request, &start).await;
            if listed.is_err() || outcome.is_err() {
                departures.failed_to_call();
            }
            return Some(visit);
        }
        tokio::time::sleep(PAUSE).await;
    }
    None
}

impl ScenarioType for Reconnect {
    fn work(&self, _: &LoadSettings) -> Result<Work, StageError> {
        Ok(Work::Steps(Box::new(self.clone())))
    }

    fn conclude(&self, assembly: &Assembly<'_>, report: &mut Report) {
        departure::conclude(assembly, report, Focus::Recovery);
    }

    fn judging(&self) -> Judging {
        Judging {
            leaves_calls: true,
            ..Judging::default()
        }
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![
            counted(self.iterations.into(), "drop"),
            concurrent(self.concurrent),
        ]
    }
}

impl Steps for Reconnect {
    fn run<'a>(
        &'a self,
        stage: &'a Arc<Stage>,
        recorder: &'a Arc<Recorder>,
    ) -> BoxFuture<'a, Result<(), StageError>> {
        Box::pin(self.take(stage, recorder))
    }
}
