//! Calls cancelled half-way, with notifications in between: the server has to live, and the same
//! tool has to answer again.
//!
//! Only calls made after a cancellation count. The tool is known to succeed when it is let finish,
//! and to take less than the hang threshold; so a slow tool is not mistaken for a stuck one, even
//! if a server runs the cancelled call to its end first.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use mcprove_client::session::{Call, CallError, Session};
use mcprove_document::figure::counted;
use mcprove_score::verdict::{Severity, Verdict};
use mcprove_settings::message::{message, setting};
use mcprove_settings::setting::Settings;
use mcprove_trace::protocol::Era;
use mcprove_trace::stream::Fact;
use mcprove_trace::{BoxFuture, ErrorCategory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::reference::{self, Reference};
use super::{Judging, ScenarioType, Shape};
use crate::drive::context::{Connection, RunContext, in_phase};
use crate::run::RunError;

/// The phase of the calls that are let finish.
const PHASE: u16 = 1;
/// The phase of the calls that are cancelled.
const CANCELLED_PHASE: u16 = 2;
/// Shorter waits are not left to the timer.
const TIMED_MIN: Duration = Duration::from_millis(10);
/// How long a call is let run at most before it is cancelled.
const HALF_WAY_MAX: Duration = Duration::from_secs(2);

/// What it finds.
pub(super) const EXPLANATION: &str =
    "calls cancelled in progress, notifications in mid-call: does the server survive it?";

/// Calls cancelled half-way, and notifications in the middle of calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Settings)]
pub struct InterruptedCall {
    /// How often a call is cancelled.
    #[setting(default = 10)]
    pub iterations: u32,
}

/// How many calls of a tool, which is the message, were cancelled.
#[derive(Debug, Serialize, Deserialize)]
struct InterruptedFact {
    cancelled: u32,
}

impl Fact for InterruptedFact {
    const NAME: &'static str = "interrupted";
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
            format!("After a call of {tool} was cancelled in progress, {what}."),
            "release locks and answer streams when a call is cancelled, and keep the cancellation from ending more than that call",
        )
    }
}

impl InterruptedCall {
    /// Cancels calls until one does harm.
    async fn interrupt(
        &self,
        context: &RunContext,
        connection: &Connection,
        reference: &Reference,
    ) -> Verdict {
        let session = &connection.session;
        let tool = &reference.call.tool;
        let threshold = context.hang_limits().threshold;
        // A server that does not answer this now says nothing by not answering it later.
        let shows_life = session.check_alive(threshold).await.is_ok();
        let mut cancelled = 0_u32;
        let mut harm = None;
        let mut duration = reference.duration;
        for iteration in 0..self.iterations {
            if !context.stop.is_running() || harm.is_some() {
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
            context.progress(iteration + 1, self.iterations);
        }
        if matches!(harm, Some(Harm::Stuck | Harm::Wedged)) {
            context.note_stuck(connection, tool).await;
        }
        context.fact(tool, &InterruptedFact { cancelled });
        let verdict = match harm {
            Some(harm) => harm.verdict(tool),
            None if cancelled == 0 => Verdict::inconclusive(
                "cancel_kills",
                format!("Every call of {tool} was answered before it could be cancelled."),
                message!["name a slower tool (", setting("tool_call"), ")"],
            ),
            None => Verdict::pass(
                "cancel_kills",
                format!("Cancelling calls in progress does no harm: {cancelled} of {tool}."),
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
    let start = in_phase(CANCELLED_PHASE);
    let Ok(mut call) = session.start_as(&reference.call.request, &start) else {
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
    let call = || async {
        session
            .request_as(&reference.call.request, &in_phase(PHASE))
            .await
    };
    let mut last = call().await;
    if matches!(&last, Err(error) if is_failure(error)) && session.closed().is_none() {
        last = call().await;
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

/// Whether the tool itself failed, rather than to answer.
fn is_failure(error: &CallError) -> bool {
    matches!(
        error.category(),
        ErrorCategory::ToolError | ErrorCategory::ServerError | ErrorCategory::ProtocolError
    )
}

impl ScenarioType for InterruptedCall {
    fn drive<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<(), RunError>> {
        Box::pin(async move {
            let connection = context.connect().await?;
            let phases = [
                context.phase(PHASE, "let finish", 1, true),
                context.phase(CANCELLED_PHASE, "cancelled", 1, false),
            ];
            // The slowest is the easiest to interrupt.
            let slowest = reference::find_slowest(context, &connection.session, PHASE).await?;
            let outcome = match &slowest {
                Some(reference) => self.interrupt(context, &connection, reference).await,
                None => reference::missing("cancel_kills"),
            };
            context.note_verdict(&outcome);
            connection.note_violations();
            if outcome.is_failure() {
                connection.kill();
            } else {
                connection.end().await;
            }
            context.end_phases(phases);
            Ok(())
        })
    }

    fn judging(&self) -> Judging {
        Judging::LEAVES_CALLS
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![counted(self.iterations.into(), "time")]
    }
}
