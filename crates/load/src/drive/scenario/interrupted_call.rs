//! Calls cancelled half-way, with notifications in between: the server has to live, and the same
//! tool has to answer again.
//!
//! Only calls made after a cancellation count. The tool is known to succeed when it is let finish,
//! and to take less than the hang threshold; so a slow tool is not mistaken for a stuck one, even
//! if a server runs the cancelled call to its end first.

use super::prelude::*;
use futures_util::FutureExt;
use mcprove_client::session::Call;
use mcprove_client::transport::Detail;

const CANCEL_KILLS: &str = "cancel_kills";

/// The phase of the calls that are let finish.
const PHASE: u16 = 1;
/// The phase of the calls that are cancelled.
const CANCELLED_PHASE: u16 = 2;
/// Shorter waits are not left to the timer.
const TIMED_MIN: Duration = Duration::from_millis(10);
/// How long a call is let run at most before it is cancelled.
const HALF_WAY_MAX: Duration = Duration::from_secs(2);

/// Calls cancelled half-way, and notifications in the middle of calls.
#[data(Settings)]
pub struct InterruptedCall {
    /// How often a call is cancelled.
    #[setting(default = 10)]
    pub iterations: u32,
}

/// How many calls of a tool, which is the message, were cancelled.
#[stored]
struct InterruptedFact {
    cancelled: u32,
}

impl Fact for InterruptedFact {
    const NAME: &'static str = "interrupted";
}

/// What came of a cancellation.
enum Aftermath {
    /// A call of the same tool was answered, after so long.
    Answered(Duration),
    /// A rate limit refused it.
    Refused,
    /// It was still queued when it was given up.
    Queued,
    /// Harm, in words, and whether calls hang since.
    Harm { what: String, is_stuck: bool },
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
        let mut checked = 0;
        let mut ended = None;
        let mut duration = reference.duration;
        for iteration in context.rounds(self.iterations) {
            let half_way = half_way(session, duration, iteration);
            let is_cancelled = cancel(session, reference, half_way).await;
            cancelled += u32::from(is_cancelled);
            // The first call may have been slower than all others, so the last one counts.
            match examine(connection, reference, threshold, shows_life).await {
                Aftermath::Answered(last) => duration = last,
                other => {
                    ended = Some(other);
                    break;
                }
            }
            checked = cancelled;
        }
        if matches!(ended, Some(Aftermath::Harm { is_stuck: true, .. })) {
            context.note_stuck(connection, tool).await;
        }
        context.fact(tool, &InterruptedFact { cancelled });
        let verdict = match ended {
            Some(Aftermath::Harm { what, .. }) => Verdict::critical(
                CANCEL_KILLS,
                format!("After a call of {tool} was cancelled in progress, {what}."),
                "release locks and answer streams when a call is cancelled, and keep the cancellation from ending more than that call",
            ),
            Some(Aftermath::Queued) => Verdict::inconclusive(
                CANCEL_KILLS,
                format!(
                    "After a call of {tool} was cancelled, the next was still queued when it was given up."
                ),
                sentence!(
                    "wait longer ({}), or name a faster tool",
                    setting("max_wait")
                ),
            ),
            Some(Aftermath::Refused) if checked == 0 => Verdict::inconclusive(
                CANCEL_KILLS,
                format!("A rate limit refused the calls of {tool} after one was cancelled."),
                "allow this client more calls, or run again later",
            ),
            _ if checked == 0 => Verdict::inconclusive(
                CANCEL_KILLS,
                format!("Every call of {tool} was answered before it could be cancelled."),
                sentence!("name a slower tool ({})", setting("tool_call")),
            ),
            rest => Verdict::pass(
                CANCEL_KILLS,
                format!(
                    "Cancelling calls in progress does no harm: {checked} of {tool}{}.",
                    rest.map_or("", |_| ", until a rate limit refused calls")
                ),
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
async fn is_answered_within(mut call: &mut Call, time: Duration) -> bool {
    if time >= TIMED_MIN {
        return tokio::time::timeout(time, call).await.is_ok();
    }
    let until = Instant::now() + time;
    while Instant::now() < until {
        if (&mut call).now_or_never().is_some() {
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

/// Whether the server lives and the tool answers, or what harm was done. One
/// failure may be the tool's own; two are not.
async fn examine(
    connection: &Connection,
    reference: &Reference,
    threshold: Duration,
    shows_life: bool,
) -> Aftermath {
    use ErrorCategory::{
        Deadlock, Disconnected, Hang, Malformed, ProtocolError, ServerError, Timeout, ToolError,
    };
    let session = &connection.session;
    let is_alive = session.check_alive(threshold).await.is_ok();
    let mut last = connection.call(&reference.call, PHASE).await;
    // Whether the tool itself failed, rather than to answer.
    let is_failure =
        |error: &CallError| matches!(error.category(), ToolError | ServerError | ProtocolError);
    let is_refused = |error: &CallError| error.failure.is_rate_limited();
    let is_kept = |error: &CallError| error.failure.detail == Detail::KeptConnection;
    let may_repeat = |error: &CallError| is_kept(error) || is_failure(error) && !is_refused(error);
    if last.as_ref().is_err_and(may_repeat) && session.closed().is_none() {
        last = connection.call(&reference.call, PHASE).await;
    }
    let wedged = "the server answers nothing any more";
    let (what, is_stuck) = match (last, session.closed()) {
        (Ok(_), None) if shows_life && !is_alive => (wedged.to_owned(), true),
        (Ok(reply), _) => return Aftermath::Answered(reply.duration),
        // Late is not never. A broken reply is a finding of its own, and no harm that a cancellation did.
        (Err(error), closed)
            if error.category() == Hang || error.category() == Malformed && closed.is_none() =>
        {
            return Aftermath::Answered(error.duration);
        }
        (Err(error), None) if is_refused(&error) => return Aftermath::Refused,
        (Err(error), None) if error.failure.detail == Detail::Queued => return Aftermath::Queued,
        (Err(_), Some(failure)) => (format!("the server is gone: {}", failure.message), false),
        (Err(error), None) => match error.category() {
            Disconnected => (format!("the server is gone: {error}"), false),
            Deadlock | Timeout => {
                let stuck =
                    "no call of the same tool is answered any more, though the server is alive";
                (if is_alive { stuck } else { wedged }.to_owned(), true)
            }
            _ => {
                let what = format!("the same call, which succeeded before, now fails: {error}");
                (what, false)
            }
        },
    };
    Aftermath::Harm { what, is_stuck }
}

impl ScenarioType for InterruptedCall {
    fn questions(&self) -> &'static [&'static str] {
        &[CANCEL_KILLS]
    }

    fn drive<'a>(&'a self, context: &'a RunContext) -> Steps<'a> {
        Box::pin(async move {
            let connection = context.connect().await?;
            let phases = [
                context.phase(PHASE, "let finish", 1, true),
                context.phase(CANCELLED_PHASE, "cancelled", 1, false),
            ];
            // The slowest is the easiest to interrupt.
            let slowest = reference::find_slowest(context, &connection, PHASE).await?;
            let outcome = match &slowest {
                Some(reference) => self.interrupt(context, &connection, reference).await,
                None => reference::missing(CANCEL_KILLS),
            };
            context.note_verdict(&outcome);
            connection.finish(outcome.is_failure()).await;
            context.end_phases(phases);
            Ok(())
        })
    }

    fn judging(&self) -> Judging {
        Judging {
            interrupts_calls: true,
            failures_told_by: Some(CANCEL_KILLS),
            ..Judging::leaving_calls()
        }
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        vec![counted(self.iterations.into(), "time")]
    }
}
