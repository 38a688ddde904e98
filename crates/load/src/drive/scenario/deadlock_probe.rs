//! Many first calls at the same instant on a fresh server: the moment at which lazy initialisation
//! deadlocks. While calls hang, the server is asked whether it still lives; that tells a stuck tool
//! from a dead event loop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcprove_client::session::{CallError, Reply, Start};
use mcprove_document::figure;
use mcprove_score::deadlock::{self, CallOutcome, ProbeOutcome, ProbeSeverity, ProbedCall};
use mcprove_settings::quantity::as_milliseconds;
use mcprove_settings::quantity::seconds;
use mcprove_settings::reader::Reader;
use mcprove_settings::setting::Settings;
use mcprove_trace::hang::{self, DeadlockKind, HangLimits};
use mcprove_trace::stream::Recorder;
use mcprove_trace::{BoxFuture, ErrorCategory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinSet;

use super::{Given, Judging, ScenarioType, Shape, Steps, Success, Work, concurrent};
use crate::drive::definition::LoadSettings;
use crate::drive::error::StageError;
use crate::drive::mix::{ReadyCall, calls_for};
use crate::drive::stage::{Connection, PhaseNote, Stage, note_violations, since_start};
use crate::drive::token::Tokens;
use crate::run::assemble::Assembly;
use crate::run::report::Report;

const PHASE: u16 = 1;

/// What it finds.
pub(super) const EXPLANATION: &str =
    "many first calls at the same instant on a fresh server: deadlocks";

/// Many first calls at the same instant on a fresh server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Settings)]
pub struct DeadlockProbe {
    /// Calls released together.
    #[setting(default = 20, short = 'c', elsewhere = "ignored")]
    pub concurrent: u32,
    /// When a call counts as hung.
    #[setting(default = "5s", flag = false, elsewhere = "thresholds.hang_timeout")]
    #[serde(rename = "hang_threshold_secs", with = "seconds")]
    #[schemars(with = "f64")]
    pub hang_threshold: Duration,
    /// How long a hung call may still answer late.
    #[setting(default = "10s", kind = TIME_OR_ZERO, flag = false, elsewhere = "thresholds.grace_period")]
    #[serde(rename = "grace_period_secs", with = "seconds")]
    #[schemars(with = "f64")]
    pub grace_period: Duration,
    /// How long `tools/list` may take.
    #[setting(default = "1s")]
    #[serde(rename = "list_timeout_secs", with = "seconds")]
    #[schemars(with = "f64")]
    pub list_timeout: Duration,
}

impl DeadlockProbe {
    async fn take(&self, stage: &Arc<Stage>, recorder: &Arc<Recorder>) -> Result<(), StageError> {
        let connection = match stage.connect(recorder).await {
            Ok(connection) => Arc::new(connection),
            // A server that starts and then does not answer is what we came for; one that cannot
            // be started or reached at all is an error.
            Err(error) if error.is_silence() => {
                Self::conclude(
                    recorder,
                    "",
                    ProbeOutcome::ServerInitError,
                    Vec::new(),
                    None,
                );
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let listing = stage.list_tools(recorder, &connection.session);
        let tools = match tokio::time::timeout(self.list_timeout, listing).await {
            Ok(Ok(tools)) => tools,
            Ok(Err(error)) if !is_silence(&error) => return Err(error),
            Ok(Err(_)) | Err(_) => {
                Self::conclude(recorder, "", ProbeOutcome::ToolsListHang, Vec::new(), None);
                connection.kill();
                return Ok(());
            }
        };
        let calls = calls_for(stage, &tools)?;
        let Some(call) = calls.first() else {
            return Ok(());
        };
        let ready = Arc::new(ReadyCall::new(stage, &connection.session, &tools, call)?);
        self.fire(stage, recorder, &connection, &ready).await;
        Ok(())
    }

    /// Releases all calls at once, and waits for what becomes of them.
    async fn fire(
        &self,
        stage: &Arc<Stage>,
        recorder: &Arc<Recorder>,
        connection: &Arc<Connection>,
        ready: &Arc<ReadyCall>,
    ) {
        let mut phase = PhaseNote {
            index: PHASE,
            name: "probe",
            concurrent: self.concurrent,
            rate: None,
            measured: true,
            from: since_start(&stage.stream, Instant::now()),
            until: None,
        };
        phase.note(recorder);
        let limits = stage.hang_limits();
        let barrier = Arc::new(tokio::sync::Barrier::new(self.concurrent as usize));
        let mut calls = JoinSet::new();
        for number in 0..self.concurrent {
            let (connection, ready, barrier) = (
                Arc::clone(connection),
                Arc::clone(ready),
                Arc::clone(&barrier),
            );
            let mut params = ready.request.params.clone();
            Tokens::write(&mut params, &ready.places, u64::from(number));
            calls.spawn(async move {
                barrier.wait().await;
                let start = Start {
                    params: Some(&params),
                    intended: None,
                    phase: PHASE,
                };
                let outcome = connection.session.request_as(&ready.request, &start).await;
                (number, outcome)
            });
        }
        // Asked as soon as something hangs, the answer may take as long as the hung calls may.
        let asking = Arc::clone(connection);
        let liveness = tokio::spawn(async move {
            tokio::time::sleep(limits.threshold).await;
            asking.session.check_alive(limits.grace).await.is_ok()
        });
        let mut outcomes: Vec<(u32, ProbedCall)> = Vec::new();
        // Asked to stop, it is given a while to go on. A part of the calls says nothing: where that
        // is not enough there is no conclusion, only calls without an answer.
        while let Some(joined) = calls.join_next().await {
            if let Ok((number, outcome)) = joined {
                outcomes.push((number, probed(&outcome)));
            }
            let done = u32::try_from(outcomes.len()).unwrap_or(u32::MAX);
            stage.progress(done, self.concurrent);
        }
        outcomes.sort_by_key(|(number, _)| *number);
        let outcomes: Vec<ProbedCall> = outcomes.into_iter().map(|(_, call)| call).collect();
        let is_stuck = outcomes
            .iter()
            .any(|call| matches!(call.outcome, CallOutcome::Deadlock));
        let session = &connection.session;
        let kind = if is_stuck {
            let answers = liveness.await.unwrap_or(false) && session.closed().is_none();
            let is_process_alive = session.process().map(|_| session.closed().is_none());
            Some(hang::kind(is_process_alive, answers))
        } else {
            liveness.abort();
            session.closed().map(|_| DeadlockKind::ProcessDead)
        };
        note_violations(recorder, session);
        phase.until = Some(since_start(&stage.stream, Instant::now()));
        phase.note(recorder);
        Self::conclude(
            recorder,
            &ready.tool,
            ProbeOutcome::Completed,
            outcomes,
            kind,
        );
        if is_stuck {
            // It will not end by itself, and what it did is recorded.
            connection.kill();
        } else {
            connection.end().await;
        }
    }

    fn conclude(
        recorder: &Recorder,
        tool: &str,
        outcome: ProbeOutcome,
        calls: Vec<ProbedCall>,
        kind: Option<DeadlockKind>,
    ) {
        let report = deadlock::judge(tool, outcome, calls, kind);
        recorder.note("deadlock_probe", tool, &json!(report));
    }
}

fn probed(outcome: &Result<Reply, CallError>) -> ProbedCall {
    match outcome {
        Ok(reply) => ProbedCall {
            outcome: CallOutcome::Success,
            duration_ms: as_milliseconds(reply.duration),
            message: None,
        },
        Err(error) => ProbedCall {
            outcome: match error.category() {
                ErrorCategory::Hang => CallOutcome::Slow,
                ErrorCategory::Deadlock => CallOutcome::Deadlock,
                _ => CallOutcome::Error,
            },
            duration_ms: as_milliseconds(error.duration),
            message: Some(error.to_string()),
        },
    }
}

impl ScenarioType for DeadlockProbe {
    fn work(&self, _: &LoadSettings) -> Result<Work, StageError> {
        Ok(Work::Steps(Box::new(self.clone())))
    }

    fn complete(&mut self, given: &Given<'_, '_>, _: &mut Reader<'_>) {
        // What is given for all scenarios holds for this one too, unless it has its own.
        let (hang, grace) = given.hang_limits;
        if let Some(hang) = hang.filter(|_| !given.has("hang_threshold")) {
            self.hang_threshold = hang;
        }
        if let Some(grace) = grace.filter(|_| !given.has("grace_period")) {
            self.grace_period = grace;
        }
    }

    fn hang_limits(&self) -> Option<HangLimits> {
        Some(HangLimits {
            threshold: self.hang_threshold,
            grace: self.grace_period,
        })
    }

    fn judging(&self) -> Judging {
        Judging {
            judges_hangs: true,
            ..Judging::default()
        }
    }

    /// Its own verdict says when nothing was answered; calls that were all late are left.
    fn success(&self, assembly: &Assembly<'_>, report: &Report) -> Success {
        let probe = report.deadlock.as_ref();
        let is_late = probe.is_some_and(|probe| probe.severity == ProbeSeverity::Warning);
        let is_done = !assembly.ending.interrupted || assembly.notes.deadlock_probe.is_some();
        let has_succeeded = report.throughput.successful_requests > 0;
        Success {
            is_needed: is_late,
            is_reached: is_done && (has_succeeded || !is_late),
        }
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![
            concurrent(self.concurrent),
            format!(
                "hang after {}, lost after {} more",
                figure::duration(self.hang_threshold),
                figure::duration(self.grace_period)
            ),
        ]
    }
}

impl Steps for DeadlockProbe {
    fn run<'a>(
        &'a self,
        stage: &'a Arc<Stage>,
        recorder: &'a Arc<Recorder>,
    ) -> BoxFuture<'a, Result<(), StageError>> {
        Box::pin(self.take(stage, recorder))
    }
}

/// Whether the tools could not be listed because no answer came.
fn is_silence(error: &StageError) -> bool {
    matches!(error, StageError::List(error) if error.category() == ErrorCategory::Timeout)
}
