//! Messages that no client should send, one after the other, and whether the server survives each.
//!
//! One session is used for as long as it lives. After each payload the server is asked whether it
//! is alive; when it is not, the payload is to blame, and the next one gets a new session.

mod frame;
mod payloads;
mod trial;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcprove_client::session::{ConnectError, Session};
use mcprove_document::figure::counted;
use mcprove_score::fuzz::{self, Answer, classify};
use mcprove_score::verdict::Verdict;
use mcprove_settings::number;
use mcprove_settings::quantity::seconds;
use mcprove_settings::setting::Settings;
use mcprove_trace::BoxFuture;
use mcprove_trace::stream::Recorder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::payloads::{Payload, choose};
use self::trial::{Seen, Target, Trial, note_case};
use super::check::note_check;
use super::{Judging, ScenarioType, Shape, Steps, Success, Work};
use crate::drive::definition::LoadSettings;
use crate::drive::error::StageError;
use crate::drive::mix::{MixError, ReadyCall, calls_for};
use crate::drive::stage::{Connection, PhaseNote, Stage, note_violations, since_start};
use crate::run::assemble::Assembly;
use crate::run::report::Report;

const PHASE: u16 = 1;
/// How many times as long as at first a liveness check may take.
const SLOWER_MAX: u32 = 4;
/// How often in a row a new session is tried before the server counts as gone.
const OPENS_MAX: u32 = 3;
/// The pause before a session is tried again.
const PAUSE: Duration = Duration::from_millis(200);
/// The tool that is called where the server has none that can be.
const NO_TOOL: &str = "mcprove_no_such_tool";

/// The names of the payloads.
pub fn payload_names() -> Vec<&'static str> {
    payloads::all().map(|payload| payload.name).collect()
}

/// What it finds.
pub(super) const EXPLANATION: &str =
    "malformed messages, one by one: crashes, hangs, requests left without an answer";

/// Malformed messages, and whether the server survives each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Settings)]
pub struct Fuzzer {
    /// How often all payloads are sent.
    #[setting(default = 1)]
    pub iterations: u32,
    /// The payloads to send, by name; none means all.
    #[setting(kind = Kind::SomeOf(payload_names), otherwise = "all", flag = "payload")]
    pub payloads: Vec<String>,
    /// How long each answer may take.
    #[setting(default = "2s")]
    #[serde(rename = "answer_timeout_secs", with = "seconds")]
    #[schemars(with = "f64")]
    pub answer_timeout: Duration,
}

impl Fuzzer {
    async fn take(&self, stage: &Arc<Stage>, recorder: &Arc<Recorder>) -> Result<(), StageError> {
        let payloads =
            choose(&self.payloads).map_err(|message| StageError::Config(message.into()))?;
        let first = stage.connect(recorder).await?;
        let from = since_start(&stage.stream, Instant::now());
        let target = target(stage, recorder, &first.session).await?;
        let Some(alive_timeout) = self.alive_timeout(stage, &first.session).await else {
            note_check(recorder, &unjudgeable());
            first.end().await;
            return Ok(());
        };
        let count = u32::try_from(payloads.len()).unwrap_or(u32::MAX);
        let total = count.saturating_mul(self.iterations);
        let mut current = Some(first);
        let mut done = 0;
        for payload in (0..self.iterations).flat_map(|_| &payloads) {
            if !stage.stop.is_running() {
                break;
            }
            let Some(connection) = current.take() else {
                break;
            };
            let trial = Trial {
                payload,
                answer_timeout: self.answer_timeout,
                alive_timeout,
            };
            let seen = trial.run(&connection.session, &target).await;
            current = conclude(stage, recorder, connection, payload, &seen).await;
            done += 1;
            stage.progress(done, total);
        }
        if current.is_none() && done < total {
            note_check(recorder, &untried(total - done));
        }
        if let Some(connection) = current {
            connection.end().await;
            note_violations(recorder, &connection.session);
        }
        PhaseNote {
            index: PHASE,
            name: "fuzz",
            concurrent: 1,
            rate: None,
            measured: true,
            from,
            until: Some(since_start(&stage.stream, Instant::now())),
        }
        .note(recorder);
        Ok(())
    }

    /// How long the server may take to show that it lives: the hang threshold, or several times as
    /// long as it takes before anything was done to it. None when it does not show it even then.
    async fn alive_timeout(&self, stage: &Stage, session: &Session) -> Option<Duration> {
        let patience = stage.server.startup_timeout;
        let answered = session.check_alive(patience).await.ok()?;
        let threshold = stage.hang_limits().threshold.max(self.answer_timeout);
        Some(threshold.max(answered.saturating_mul(SLOWER_MAX)))
    }
}

/// Notes what came of a payload, and returns the session for the next: the same, or a new one
/// if that is over. None when the server is gone.
async fn conclude(
    stage: &Arc<Stage>,
    recorder: &Arc<Recorder>,
    connection: Connection,
    payload: &Payload,
    seen: &Seen,
) -> Option<Connection> {
    let session = &connection.session;
    let closed = session.closed();
    let is_ours = session.process().is_some();
    if seen.is_alive && closed.is_none() {
        note_case(
            recorder,
            payload,
            seen,
            classify(seen.said(), true, false),
            None,
        );
        return Some(connection);
    }
    note_violations(recorder, session);
    connection.kill();
    drop(connection);
    let reason = format!("after the payload {}", payload.name);
    let reopened = reopen(stage, recorder, &reason).await;
    let is_gone = match &reopened {
        // Our own process: another one says nothing of it.
        _ if is_ours => closed.is_some(),
        Ok(_) => false,
        Err(error) => !error.is_silence(),
    };
    // A server that closed the connection and takes another one has only refused.
    let is_refusal = closed.is_some() && reopened.is_ok() && !is_gone;
    let said = if is_refusal {
        Answer::Error
    } else {
        seen.said()
    };
    let outcome = classify(said, is_refusal, is_gone);
    note_case(recorder, payload, seen, outcome, closed.as_ref());
    reopened.ok()
}

/// What can be said where liveness cannot be checked.
fn unjudgeable() -> Verdict {
    Verdict::inconclusive(
        "fuzz",
        "The server does not answer a liveness check (ping, or server/discover) to begin with, so none after bad input can tell anything.",
        "answer ping, as the protocol asks for",
    )
}

/// What can be said of payloads that found no server any more.
fn untried(count: u32) -> Verdict {
    Verdict::inconclusive(
        "fuzz",
        format!("The server was gone before all bad input was sent: {count} more to go."),
        "correct what ended it and run again, or name the other payloads",
    )
    .number("untried", count)
}

/// The tool that payloads call: the first that may be called, where there is one.
async fn target(
    stage: &Stage,
    recorder: &Recorder,
    session: &Session,
) -> Result<Target, StageError> {
    let tools = stage.list_tools(recorder, session).await?;
    let calls = match calls_for(stage, &tools) {
        Ok(calls) => calls,
        Err(MixError::Nothing(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let Some(call) = calls.first() else {
        return Ok(Target {
            tool: NO_TOOL.to_owned(),
            arguments: json!({}),
        });
    };
    let ready = ReadyCall::new(stage, session, &tools, call)?;
    let params: Value = serde_json::from_str(&ready.request.params).unwrap_or_default();
    Ok(Target {
        tool: ready.tool,
        arguments: params.get("arguments").cloned().unwrap_or_default(),
    })
}

/// A new session after the last one was lost.
async fn reopen(
    stage: &Arc<Stage>,
    recorder: &Arc<Recorder>,
    reason: &str,
) -> Result<Connection, ConnectError> {
    let mut attempt = 1;
    loop {
        let error = match stage.connect(recorder).await {
            Ok(connection) => {
                // A client knows the tools before it calls one; what comes of that shows later.
                let _ = connection.session.list_tools().await;
                let data =
                    json!({ "session": connection.number, "attempt": attempt, "reason": reason });
                recorder.note("reconnected", reason, &data);
                return Ok(connection);
            }
            Err(error) => error,
        };
        recorder.note(
            "connect_failed",
            &error.to_string(),
            &json!({ "attempt": attempt }),
        );
        // One that is there and says nothing: asking again takes as long again.
        if error.is_silence() || attempt == OPENS_MAX || !stage.stop.is_running() {
            return Err(error);
        }
        attempt += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

impl ScenarioType for Fuzzer {
    fn work(&self, _: &LoadSettings) -> Result<Work, StageError> {
        Ok(Work::Steps(Box::new(self.clone())))
    }

    fn conclude(&self, assembly: &Assembly<'_>, report: &mut Report) {
        let judged = fuzz::report(assembly.notes.fuzz_cases.clone());
        report.verdicts.push(fuzz::verdict(&judged));
        report.fuzz = Some(judged);
    }

    fn judging(&self) -> Judging {
        Judging {
            sends_bad_input: true,
            ..Judging::default()
        }
    }

    fn success(&self, assembly: &Assembly<'_>, _: &Report) -> Success {
        let is_done = !assembly.ending.interrupted || !assembly.notes.fuzz_cases.is_empty();
        Success {
            is_needed: false,
            is_reached: is_done,
        }
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        let which = if self.payloads.is_empty() {
            "all payloads".to_owned()
        } else {
            counted(number::count(self.payloads.len()), "payload")
        };
        vec![which, counted(self.iterations.into(), "time")]
    }
}

impl Steps for Fuzzer {
    fn run<'a>(
        &'a self,
        stage: &'a Arc<Stage>,
        recorder: &'a Arc<Recorder>,
    ) -> BoxFuture<'a, Result<(), StageError>> {
        Box::pin(self.take(stage, recorder))
    }
}
