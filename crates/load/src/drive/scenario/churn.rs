//! Sessions opened and left, one after the other and several at the same time: half of them in an
//! orderly way, half without a goodbye. Each makes one call. A server has to let go of them all.
//!
//! Where one process serves all sessions, what it keeps of them shows in its memory and its
//! descriptors, sampled all the while (`drive/sampler.rs`); over stdio, in processes that stay.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mcprove_client::session::{ProtocolChoice, Start};
use mcprove_document::figure::counted;
use mcprove_settings::setting::Settings;
use mcprove_trace::BoxFuture;
use mcprove_trace::protocol::{Era, Revision};
use mcprove_trace::stream::Recorder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::departure::{self, Departures, Way};
use super::reference::{self, Reference};
use super::{Judging, ScenarioType, Shape, Steps, Work, concurrent};
use crate::drive::definition::LoadSettings;
use crate::drive::error::StageError;
use crate::drive::stage::{Connection, PhaseNote, Stage, since_start};
use crate::drive::stop::StopLevel;
use crate::run::assemble::Assembly;
use crate::run::report::Report;
use crate::run::session_ends::Focus;

const PHASE: u16 = 1;
/// How long the sessions take together, at least, where one process serves them all: time enough
/// to see what grows.
const TIME_MIN: Duration = Duration::from_secs(3);
/// How long the server has at the end to let go of the last sessions.
const LETTING_GO: Duration = Duration::from_millis(500);
/// So many sessions that cannot be opened: the server is gone.
const FAILED_OPENS_MAX: u32 = 3;

/// What it finds.
pub(super) const EXPLANATION: &str =
    "sessions opened and abandoned: sessions that are never let go, processes that stay";

/// Sessions opened and abandoned without a goodbye.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Settings)]
pub struct Churn {
    /// How many sessions are opened.
    #[setting(default = 100)]
    pub sessions: u32,
    /// How many are open at the same time.
    #[setting(default = 5, elsewhere = "ignored")]
    pub concurrent: u32,
}

/// What those who open sessions share.
struct Shared {
    stage: Arc<Stage>,
    recorder: Arc<Recorder>,
    departures: Departures,
    reference: Reference,
    protocol: ProtocolChoice,
    began: Instant,
    /// The time between two sessions, at least.
    pace: Duration,
    sessions: u32,
    next: AtomicU32,
    done: AtomicU32,
    failed_opens: AtomicU32,
}

impl Churn {
    async fn take(&self, stage: &Arc<Stage>, recorder: &Arc<Recorder>) -> Result<(), StageError> {
        let departures = Departures::default();
        let first = departures.open_first(stage, recorder).await?;
        let from = since_start(&stage.stream, Instant::now());
        let session = &first.connection.session;
        let found = reference::find_first_call(stage, recorder, &first.connection, PHASE).await?;
        let protocol = self.protocol(stage, recorder, &first.connection).await;
        let is_process_each = session.process().is_some();
        departures.leave(recorder, &first, Way::Orderly).await;
        if let Some(reference) = found {
            let pace = if is_process_each {
                Duration::ZERO
            } else {
                TIME_MIN / self.sessions.max(1)
            };
            let shared = Arc::new(Shared {
                stage: Arc::clone(stage),
                recorder: Arc::clone(recorder),
                departures,
                reference,
                protocol,
                began: Instant::now(),
                pace,
                sessions: self.sessions,
                next: AtomicU32::new(0),
                done: AtomicU32::new(0),
                failed_opens: AtomicU32::new(0),
            });
            let mut visitors = JoinSet::new();
            for _ in 0..self.concurrent.min(self.sessions) {
                visitors.spawn(Arc::clone(&shared).visit());
            }
            while visitors.join_next().await.is_some() {}
            shared.wait(LETTING_GO).await;
            shared.departures.finish(stage, recorder).await;
        } else {
            departures.finish(stage, recorder).await;
        }
        let until = since_start(&stage.stream, Instant::now());
        PhaseNote {
            index: PHASE,
            name: "churn",
            concurrent: self.concurrent,
            rate: None,
            measured: true,
            from,
            until: Some(until),
        }
        .note(recorder);
        Ok(())
    }

    /// The revision to speak: HTTP has sessions in the handshake era only, so that era is taken
    /// where the choice is ours and the server speaks it.
    async fn protocol(
        &self,
        stage: &Arc<Stage>,
        recorder: &Arc<Recorder>,
        first: &Connection,
    ) -> ProtocolChoice {
        let chosen = stage.options.protocol;
        let session = &first.session;
        let is_sessionless = session.era() == Era::Stateless && session.transport() == "http";
        if chosen != ProtocolChoice::Auto || !is_sessionless {
            return chosen;
        }
        let handshake = ProtocolChoice::Revision(Revision::LATEST_HANDSHAKE);
        let trial = stage.connect_with(recorder, |options| options.protocol = handshake);
        match trial.await {
            Ok(connection) => {
                connection.end().await;
                handshake
            }
            Err(_) => chosen,
        }
    }
}

impl Shared {
    /// Opens and leaves one session after the other, until all are done.
    async fn visit(self: Arc<Self>) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let is_enough = number >= self.sessions || self.departures.is_clear();
            if is_enough || !self.stage.stop.is_running() {
                return;
            }
            let due = self.began + self.pace * number;
            self.wait(due.saturating_duration_since(Instant::now()))
                .await;
            if !self.visit_once(number).await {
                return;
            }
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            self.stage.progress(done, self.sessions);
        }
    }

    /// Opens and leaves one session; false when the server is gone.
    async fn visit_once(&self, number: u32) -> bool {
        let opening = self
            .departures
            .open_with(&self.stage, &self.recorder, self.protocol);
        let Some(visit) = opening.await else {
            let failed = self.failed_opens.fetch_add(1, Ordering::Relaxed) + 1;
            return failed < FAILED_OPENS_MAX;
        };
        let start = Start {
            phase: PHASE,
            ..Start::default()
        };
        let session = &visit.connection.session;
        let request = &self.reference.ready.request;
        // In its proper order: what comes too early is for another scenario.
        let listed = session.list_tools().await;
        let outcome = session.request_as(request, &start).await;
        if listed.is_err() || outcome.is_err() {
            self.departures.failed_to_call();
        }
        let way = Way::alternate(number);
        self.departures.settle(&self.stage, &visit, way).await;
        self.departures.leave(&self.recorder, &visit, way).await;
        true
    }

    async fn wait(&self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.stage.stop.requested(StopLevel::Drain) => {}
        }
    }
}

impl ScenarioType for Churn {
    fn work(&self, _: &LoadSettings) -> Result<Work, StageError> {
        Ok(Work::Steps(Box::new(self.clone())))
    }

    fn conclude(&self, assembly: &Assembly<'_>, report: &mut Report) {
        departure::conclude(assembly, report, Focus::Leaks);
    }

    fn judging(&self) -> Judging {
        Judging {
            leaves_calls: true,
            ..Judging::default()
        }
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![
            counted(self.sessions.into(), "session"),
            concurrent(self.concurrent),
        ]
    }
}

impl Steps for Churn {
    fn run<'a>(
        &'a self,
        stage: &'a Arc<Stage>,
        recorder: &'a Arc<Recorder>,
    ) -> BoxFuture<'a, Result<(), StageError>> {
        Box::pin(self.take(stage, recorder))
    }
}
