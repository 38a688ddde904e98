//! Calls cancelled half-way, with notifications in between: the server has to live, and the same
//! tool has to answer again.
//!
//! Only calls made after a cancellation count. The tool is known to succeed when it is let finish,
//! and to take less than the hang threshold; so a slow tool is not mistaken for a stuck one, even
//! if a server runs the cancelled call to its end first.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use mcprove_client::session::{Call, CallError, Reply, Session, Start};
use mcprove_document::figure::counted;
use mcprove_score::verdict::{Severity, Verdict};
use mcprove_settings::message::{message, setting};
use mcprove_settings::setting::Settings;
use mcprove_trace::protocol::Era;
use mcprove_trace::stream::Recorder;
use mcprove_trace::{BoxFuture, ErrorCategory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::check::note_check;
use super::reference::{self, Reference};
use super::{Judging, ScenarioType, Shape, Steps, Work};
use crate::drive::definition::LoadSettings;
use crate::drive::error::StageError;
use crate::drive::seat::note_stuck;
use crate::drive::stage::{Connection, Stage, note_steps, note_violations, since_start};

/// The phase of the calls that are let finish.
const PHASE: u16 = 1;
/// The phase of the calls that are cancelled.
const CANCELLED_PHASE: u16 = 2;
/// How many tools are tried to find the slowest, which is the easiest to interrupt.
const TOOLS_MAX: usize = 20;
/// Shorter waits are not left to the timer.
const TIMED_MIN: Duration = Duration::from_millis(10);
/// How long a call is let run at most before it is cancelled.
const HALF_WAY_MAX: Duration = Duration::from_secs(2);

/// What it finds.
pub(super) const EXPLANATION: &str =
    "calls cancelled half-way, notifications in the middle: does the server survive it?";

/// Calls cancelled half-way, and notifications in the middle of calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Settings)]
pub struct InterruptedCall {
    /// How often a call is cancelled.
    #[setting(default = 10)]
    pub iterations: u32,
}

/// What a cancellation did.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Harm {
    /// The server ended, or closed the connection.
    Ended(String),
    /// It answers nothing any more.
    Wedged,
    /// It lives, but the tool does not answer any more.
    Stuck,
    /// The tool fails since.
    Fails(String),
}

impl Harm {
    fn verdict(&self, tool: &str) -> Verdict {
        let what = match self {
            Self::Ended(reason) => format!("the server is gone: {reason}"),
            Self::Wedged => "the server answers nothing any more".to_owned(),
            Self::Stuck => {
                "no call of the same tool is answered any more, though the server is alive"
                    .to_owned()
            }
            Self::Fails(reason) => format!("the same call fails that succeeded before: {reason}"),
        };
        Verdict::finding(
            "cancel_kills",
            Severity::Critical,
            format!("After a call of {tool} was cancelled half-way, {what}."),
            "release locks and answer streams when a call is cancelled, and keep the cancellation from ending more than that call",
        )
    }
}

impl InterruptedCall {
    async fn take(&self, stage: &Arc<Stage>, recorder: &Arc<Recorder>) -> Result<(), StageError> {
        let connection = stage.connect(recorder).await?;
        let from = since_start(&stage.stream, Instant::now());
        let session = &connection.session;
        let found = reference::find(stage, recorder, session, PHASE, TOOLS_MAX).await?;
        let slowest = found.iter().max_by_key(|reference| reference.duration);
        let mut is_harmed = false;
        if let Some(reference) = slowest {
            let outcome = self
                .interrupt(stage, recorder, &connection, reference)
                .await;
            is_harmed = outcome.is_failure();
            note_check(recorder, &outcome);
        } else {
            note_check(recorder, &reference::missing("cancel_kills"));
        }
        note_violations(recorder, session);
        if is_harmed {
            connection.kill();
        } else {
            connection.end().await;
        }
        note_steps(
            stage,
            recorder,
            from,
            [
                (PHASE, "let finish", true),
                (CANCELLED_PHASE, "cancelled", false),
            ],
        );
        Ok(())
    }

    /// Cancels calls until one does harm.
    async fn interrupt(
        &self,
        stage: &Stage,
        recorder: &Recorder,
        connection: &Connection,
        reference: &Reference,
    ) -> Verdict {
        let session = &connection.session;
        let tool = &reference.ready.tool;
        let threshold = stage.hang_limits().threshold;
        // A server that does not answer this now says nothing by not answering it later.
        let shows_life = session.check_alive(threshold).await.is_ok();
        let mut cancelled = 0_u32;
        let mut harm = None;
        let mut duration = reference.duration;
        for iteration in 0..self.iterations {
            if !stage.stop.is_running() || harm.is_some() {
                break;
            }
            let half_way = half_way(session, duration, iteration);
            let is_cancelled = cancel(session, reference, half_way).await;
            cancelled += u32::from(is_cancelled);
            // The first call may have been slower than all others, so the last one counts.
            match examine(session, reference, threshold, shows_life).await {
                Ok(last) => duration = last,
                Err(found) => harm = Some(found),
            }
            stage.progress(iteration + 1, self.iterations);
        }
        if matches!(harm, Some(Harm::Stuck | Harm::Wedged)) {
            note_stuck(recorder, connection, tool).await;
        }
        recorder.note("interrupted", tool, &json!({ "cancelled": cancelled }));
        let verdict = match harm {
            Some(harm) => harm.verdict(tool),
            None if cancelled == 0 => Verdict::inconclusive(
                "cancel_kills",
                format!("Every call of {tool} was answered before it could be cancelled."),
                message!["name a slower tool (", setting("tool_call"), ")"],
            ),
            None => Verdict::pass(
                "cancel_kills",
                format!("Calls cancelled half-way do no harm: {cancelled} of {tool}."),
            ),
        };
        verdict.number("cancelled", cancelled)
    }
}

/// How long a call runs before it is cancelled. On a shared stream a call can be cancelled before it
/// is worked on, right behind its request: every other time. Over HTTP it would then never be sent.
fn half_way(session: &Session, duration: Duration, iteration: u32) -> Duration {
    let is_shared = matches!(session.transport(), "stdio" | "ws" | "memory");
    if is_shared && iteration % 2 == 1 {
        Duration::ZERO
    } else {
        (duration / 2).min(HALF_WAY_MAX)
    }
}

/// Starts a call, notifies the server of this and that, and cancels the call; false when the call
/// was answered before.
async fn cancel(session: &Session, reference: &Reference, half_way: Duration) -> bool {
    let start = Start {
        phase: CANCELLED_PHASE,
        ..Start::default()
    };
    let Ok(mut call) = session.start_as(&reference.ready.request, &start) else {
        // There is nothing to cancel; what is wrong shows at the next call.
        return false;
    };
    notify(session);
    // Dropping the call cancels it.
    !is_answered_within(&mut call, half_way).await
}

/// Waits that long, unless the call is answered before. The timer is too coarse for a fast tool.
async fn is_answered_within(call: &mut Call, time: Duration) -> bool {
    if time >= TIMED_MIN {
        return tokio::time::timeout(time, call).await.is_ok();
    }
    let until = Instant::now() + time;
    while Instant::now() < until {
        let polled = poll_fn(|context| Poll::Ready(Pin::new(&mut *call).poll(context)));
        if polled.await.is_ready() {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

/// Notifications that have nothing to do with any call, as far as the era has them.
fn notify(session: &Session) {
    if session.era() == Era::Handshake {
        session.notify("notifications/roots/list_changed", None);
    }
    // Over HTTP the stateless era cancels by closing the stream, and has no such notification.
    if session.era() == Era::Handshake || session.transport() != "http" {
        let unknown = json!({ "requestId": session.reserve_id(), "reason": "unrelated" });
        session.notify("notifications/cancelled", Some(&unknown));
    }
}

/// Whether the server lives and the tool answers; how long it takes, or what harm was done. One
/// failure may be the tool's own; two are not.
async fn examine(
    session: &Session,
    reference: &Reference,
    threshold: Duration,
    shows_life: bool,
) -> Result<Duration, Harm> {
    let is_alive = session.check_alive(threshold).await.is_ok();
    let mut last = call_again(session, reference).await;
    if matches!(&last, Err(error) if is_failure(error)) && session.closed().is_none() {
        last = call_again(session, reference).await;
    }
    match last {
        Ok(_) if shows_life && !is_alive && session.closed().is_none() => Err(Harm::Wedged),
        Ok(reply) => Ok(reply.duration),
        // Late is not never.
        Err(error) if error.category() == ErrorCategory::Hang => Ok(error.duration),
        Err(error) => Err(match (session.closed(), error.category()) {
            (Some(failure), _) => Harm::Ended(failure.message),
            (None, ErrorCategory::Disconnected) => Harm::Ended(error.to_string()),
            (None, ErrorCategory::Deadlock | ErrorCategory::Timeout) if is_alive => Harm::Stuck,
            (None, ErrorCategory::Deadlock | ErrorCategory::Timeout) => Harm::Wedged,
            (None, _) => Harm::Fails(error.to_string()),
        }),
    }
}

async fn call_again(session: &Session, reference: &Reference) -> Result<Reply, CallError> {
    let start = Start {
        phase: PHASE,
        ..Start::default()
    };
    session.request_as(&reference.ready.request, &start).await
}

/// Whether the tool itself failed, rather than to answer.
fn is_failure(error: &CallError) -> bool {
    matches!(
        error.category(),
        ErrorCategory::ToolError | ErrorCategory::ServerError | ErrorCategory::ProtocolError
    )
}

impl ScenarioType for InterruptedCall {
    fn work(&self, _: &LoadSettings) -> Result<Work, StageError> {
        Ok(Work::Steps(Box::new(self.clone())))
    }

    fn judging(&self) -> Judging {
        Judging {
            leaves_calls: true,
            ..Judging::default()
        }
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![counted(self.iterations.into(), "time")]
    }
}

impl Steps for InterruptedCall {
    fn run<'a>(
        &'a self,
        stage: &'a Arc<Stage>,
        recorder: &'a Arc<Recorder>,
    ) -> BoxFuture<'a, Result<(), StageError>> {
        Box::pin(self.take(stage, recorder))
    }
}
