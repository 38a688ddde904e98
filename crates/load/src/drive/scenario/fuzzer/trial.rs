//! One payload on one session: what comes back for it, and whether the server is alive afterwards.

use std::time::Duration;

use mcprove_client::session::{RawAnswer, Session};
use mcprove_client::transport::Failure;
use mcprove_score::fuzz::{Answer, FuzzCase, FuzzOutcome};
use mcprove_trace::ErrorCategory;
use mcprove_trace::stream::Fact;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::payloads::{Due, Frame, Payload};
use crate::drive::context::RunContext;

/// How long an answer that is not due may come after the server showed that it lives: it was sent
/// its payload before that question.
const UNDUE_WAIT: Duration = Duration::from_millis(200);

/// A tool to call, with arguments that it accepts.
pub(super) struct Target {
    /// Its name.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
}

/// A payload to try.
pub(super) struct Trial {
    /// The payload.
    pub payload: &'static Payload,
    /// How long its answer may take.
    pub answer_timeout: Duration,
    /// How long the server may take to show that it lives.
    pub alive_timeout: Duration,
}

impl Trial {
    /// Sends it, and asks whether the server is alive afterwards.
    pub async fn run(&self, session: &Session, target: &Target) -> Seen {
        let (payload, alive_timeout) = (self.payload, self.alive_timeout);
        let is_answer_due = match payload.due {
            Due::Yes => true,
            Due::No => false,
            Due::WithBatches => session.facts().revision.has_batches(),
        };
        let seen = |answer, is_alive| Seen {
            answer,
            is_answer_due,
            is_alive,
        };
        let meta = session.request_meta();
        let frame = Frame {
            id: session.reserve_id(),
            tool: &target.tool,
            arguments: &target.arguments,
            meta: &meta,
        };
        let messages = payload.build(&frame);
        let mut ids = vec![frame.id.to_string()];
        ids.extend(payload.ids.iter().cloned());
        let Ok(exchange) = session.exchange_raw(&messages, &ids, alive_timeout).await else {
            // Closed, or not reading: what is wrong shows at the liveness check.
            return seen(None, is_alive(session, alive_timeout).await);
        };
        if is_answer_due {
            let _ = tokio::time::timeout(self.answer_timeout, exchange.wait()).await;
            let is_alive = is_alive(session, alive_timeout).await;
            return seen(exchange.answer(), is_alive);
        }
        let is_alive = is_alive(session, alive_timeout).await;
        if is_alive {
            let wait = UNDUE_WAIT.min(self.answer_timeout);
            let _ = tokio::time::timeout(wait, exchange.wait()).await;
        }
        seen(exchange.answer(), is_alive)
    }
}

/// What was seen of a payload.
pub(super) struct Seen {
    answer: Option<RawAnswer>,
    is_answer_due: bool,
    /// Whether the server answers afterwards.
    pub is_alive: bool,
}

impl Seen {
    /// What came back.
    pub fn said(&self) -> Answer {
        match &self.answer {
            Some(answer) if answer.is_error => Answer::Error,
            Some(_) => Answer::Result,
            None => Answer::None,
        }
    }
}

/// How a payload ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct FuzzFact(pub FuzzCase);

impl Fact for FuzzFact {
    const NAME: &'static str = "fuzz_case";
}

/// Notes how a payload ended; `closed` tells how the connection did, if it did.
pub(super) fn note_case(
    context: &RunContext,
    payload: &Payload,
    seen: &Seen,
    outcome: FuzzOutcome,
    closed: Option<&Failure>,
) {
    let said = seen.answer.as_ref().map(|answer| answer.text.as_str());
    let what = match outcome {
        FuzzOutcome::Wedged => "the server no longer answers a liveness check",
        FuzzOutcome::Crashed => closed.map_or("the server cannot be reached any more", |failure| {
            &failure.message
        }),
        FuzzOutcome::Unanswered => "no answer",
        FuzzOutcome::Rejected | FuzzOutcome::Accepted => said
            .or(closed.map(|failure| failure.message.as_str()))
            .unwrap_or_default(),
    };
    let case = FuzzCase {
        payload: payload.name.clone(),
        outcome,
        detail: format!("{}: {what}", payload.explanation),
        times: 1,
        is_answer_due: seen.is_answer_due,
    };
    context.fact(&payload.name, &FuzzFact(case));
}

/// Whether the server answers, be it with an error.
async fn is_alive(session: &Session, timeout: Duration) -> bool {
    // A connection of HTTP that a server closes after a bad request may take one more with it.
    for _ in 0..2 {
        let Err(error) = session.check_alive(timeout).await else {
            return true;
        };
        match error.category() {
            ErrorCategory::Disconnected if session.closed().is_none() => {}
            ErrorCategory::Timeout | ErrorCategory::Crash | ErrorCategory::Disconnected => break,
            _ => return true,
        }
    }
    false
}
