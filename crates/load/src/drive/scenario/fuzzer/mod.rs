//! Messages that no client should send, one after the other, and whether the server survives each.
//!
//! One session is used for as long as it lives. After each payload the server is asked whether it
//! is alive; when it is not, the payload is to blame, and the next one gets a new session.

mod payloads;
mod trial;

use std::time::Duration;

use mcprove_client::session::{ConnectError, Session};
use mcprove_document::figure::counted;
use mcprove_score::fuzz::{self, Answer, classify};
use mcprove_score::verdict::Verdict;
use mcprove_settings::number;
use mcprove_settings::quantity::seconds;
use mcprove_settings::setting::Settings;
use mcprove_trace::BoxFuture;
use mcprove_trace::stream::FactError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::payloads::{Payload, choose};
use self::trial::{FuzzFact, Seen, Target, Trial, note_case};
use super::{Judging, ScenarioType, Shape, Success};
use crate::drive::context::{ConnectFailedFact, Connection, ReconnectedFact, RunContext};
use crate::drive::mix::{PreparedCall, calls_for, free_calls};
use crate::run::{Report, RunError, RunFacts};

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
    payloads::all()
        .map(|payload| payload.name.as_str())
        .collect()
}

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
    /// How long the server may take to show that it lives: the hang threshold, or several times as
    /// long as it takes before anything was done to it. None when it does not show it even then.
    async fn alive_timeout(&self, context: &RunContext, session: &Session) -> Option<Duration> {
        let patience = context.server.startup_timeout;
        let answered = session.check_alive(patience).await.ok()?;
        let threshold = context.hang_limits().threshold.max(self.answer_timeout);
        Some(threshold.max(answered.saturating_mul(SLOWER_MAX)))
    }
}

/// Notes what came of a payload, and returns the session for the next: the same, or a new one
/// if that is over. None when the server is gone.
async fn conclude(
    context: &RunContext,
    connection: Connection,
    payload: &Payload,
    seen: &Seen,
) -> Option<Connection> {
    let session = &connection.session;
    let closed = session.closed();
    let is_ours = session.process().is_some();
    if seen.is_alive && closed.is_none() {
        let outcome = classify(seen.said(), true, false);
        note_case(context, payload, seen, outcome, None);
        return Some(connection);
    }
    connection.note_violations();
    connection.kill();
    drop(connection);
    let reason = format!("after the payload {}", payload.name);
    let reopened = reopen(context, &reason).await;
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
    note_case(context, payload, seen, outcome, closed.as_ref());
    reopened.ok()
}

/// What can be said where liveness cannot be checked.
fn unjudgeable() -> Verdict {
    Verdict::inconclusive(
        "fuzz",
        "The server does not answer a liveness check (ping, or server/discover) to begin with, so liveness after bad input cannot be checked.",
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
async fn target(context: &RunContext, session: &Session) -> Result<Target, RunError> {
    let tools = context.list_tools(session).await?;
    let calls = if context.scenario.tool_calls.is_empty() {
        free_calls(context, &tools).unwrap_or_default()
    } else {
        calls_for(context, &tools)?
    };
    let Some(call) = calls.first() else {
        return Ok(Target {
            tool: NO_TOOL.to_owned(),
            arguments: json!({}),
        });
    };
    let call = PreparedCall::new(context, session, &tools, call)?;
    let params: Value = serde_json::from_str(&call.request.params).unwrap_or_default();
    Ok(Target {
        tool: call.tool,
        arguments: params.get("arguments").cloned().unwrap_or_default(),
    })
}

/// A new session after the last one was lost.
async fn reopen(context: &RunContext, reason: &str) -> Result<Connection, ConnectError> {
    let mut attempt = 1;
    loop {
        let error = match context.connect().await {
            Ok(connection) => {
                // A client knows the tools before it calls one; what comes of that shows later.
                let _ = connection.session.list_tools().await;
                let fact = ReconnectedFact {
                    session: connection.number,
                    attempt,
                    reason: reason.to_owned(),
                };
                context.fact(reason, &fact);
                return Ok(connection);
            }
            Err(error) => error,
        };
        let fact = ConnectFailedFact {
            attempt: Some(attempt),
        };
        context.fact(&error.to_string(), &fact);
        // One that is there and says nothing: asking again takes as long again.
        if error.is_silence() || attempt == OPENS_MAX || !context.stop.is_running() {
            return Err(error);
        }
        attempt += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

impl ScenarioType for Fuzzer {
    fn drive<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<(), RunError>> {
        Box::pin(async move {
            let chosen = choose(&self.payloads);
            let payloads = chosen.map_err(|message| RunError::Config(message.into()))?;
            let first = context.connect().await?;
            let phase = context.phase(PHASE, "fuzz", 1, true);
            let target = target(context, &first.session).await?;
            let Some(alive_timeout) = self.alive_timeout(context, &first.session).await else {
                context.note_verdict(&unjudgeable());
                first.end().await;
                return Ok(());
            };
            let count = u32::try_from(payloads.len()).unwrap_or(u32::MAX);
            let total = count.saturating_mul(self.iterations);
            let mut current = Some(first);
            let mut done = 0;
            for payload in (0..self.iterations).flat_map(|_| &payloads) {
                if !context.stop.is_running() {
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
                current = conclude(context, connection, payload, &seen).await;
                done += 1;
                context.progress(done, total);
            }
            if current.is_none() && done < total {
                context.note_verdict(&untried(total - done));
            }
            if let Some(connection) = current {
                connection.end().await;
                connection.note_violations();
            }
            context.end_phases([phase]);
            Ok(())
        })
    }

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> Result<(), FactError> {
        let cases: Vec<FuzzFact> = facts.all()?;
        let judged = fuzz::report(cases.into_iter().map(|case| case.0).collect());
        report.verdicts.push(fuzz::verdict(&judged));
        report.fuzz = Some(judged);
        Ok(())
    }

    fn judging(&self) -> Judging {
        Judging {
            sends_bad_input: true,
            ..Judging::default()
        }
    }

    fn success(&self, facts: &RunFacts<'_>, report: &Report) -> Success {
        let cases = report.fuzz.as_ref().map(|fuzz| &fuzz.cases);
        let has_tried = cases.is_some_and(|cases| !cases.is_empty());
        Success {
            is_needed: false,
            is_reached: !facts.ending.interrupted || has_tried,
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
