//! Calls that come before a server expects them: before its list of tools is complete, and before
//! the handshake is. To take such a call or to refuse it is fine; to hang, or to die of it, is not.

use std::time::Duration;

use mcprove_client::session::{CallError, ConnectError, ProtocolChoice, Request};
use mcprove_document::figure::counted;
use mcprove_score::verdict::{Severity, Verdict};
use mcprove_settings::setting::Settings;
use mcprove_trace::protocol::{Era, Revision};
use mcprove_trace::{BoxFuture, ErrorCategory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::{self, Reference, is_answer};
use super::{Judging, ScenarioType, Shape};
use crate::drive::context::{Connection, RunContext, in_phase};
use crate::run::RunError;

/// The phase of the calls in their proper order.
const PHASE: u16 = 1;
/// The phase of the calls that come early.
const EARLY_PHASE: u16 = 2;
/// How long a call that came before `notifications/initialized` has to wait for that: it may be
/// held back until then, and must not be afterwards.
const BEFORE_INITIALIZED: Duration = Duration::from_millis(300);

/// What it finds.
pub(super) const EXPLANATION: &str =
    "calls before the tool list is complete and before initialization is: hangs, crashes";

/// Calls before the list of tools is complete, and before initialization.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Settings)]
pub struct EarlyCall {
    /// How often, each on a fresh session.
    #[setting(default = 3)]
    pub iterations: u32,
}

/// When a call comes early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Together with `tools/list`.
    WithList,
    /// After the answer to `initialize`, before `notifications/initialized`.
    BeforeInitialized,
}

impl Moment {
    /// In words.
    const fn describe(self) -> &'static str {
        match self {
            Self::WithList => "before tools/list was answered",
            Self::BeforeInitialized => "before notifications/initialized",
        }
    }
}

/// What a server made of an early call.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Disposition {
    /// It was answered with a result.
    Accepted,
    /// It was answered with an error.
    Rejected,
    /// It is still not answered when it counts as a deadlock.
    Hung,
    /// The server ended.
    Died(String),
    /// It was answered, and then the server no longer did what it did before.
    Broken(String),
}

/// What became of the early calls of one moment.
#[derive(Debug, Default)]
struct Tally {
    accepted: u32,
    rejected: u32,
    /// The worst of them, where it is bad.
    worst: Option<Disposition>,
}

impl Tally {
    /// Counts a disposition; false when it is so bad that there is no more to learn.
    fn count(&mut self, disposition: Disposition) -> bool {
        match disposition {
            Disposition::Accepted => self.accepted += 1,
            Disposition::Rejected => self.rejected += 1,
            disposition => self.worst = Some(disposition),
        }
        self.worst.is_none()
    }

    /// What that says of the server; nothing when no early call was made.
    fn verdict(&self, moment: Moment, tool: &str) -> Option<Verdict> {
        let when = moment.describe();
        let verdict = match &self.worst {
            Some(disposition) => {
                let what = match disposition {
                    Disposition::Died(reason) => format!("ends the server: {reason}"),
                    Disposition::Broken(reason) => {
                        format!("is answered, and then nothing works any more: {reason}")
                    }
                    _ => "is never answered; in the proper order it is answered".to_owned(),
                };
                Verdict::finding(
                    "early_call",
                    Severity::Critical,
                    format!("A call of {tool} {when} {what}."),
                    "set up what calls need before the first message is read, or refuse with an error until it is set up",
                )
            }
            None if self.accepted + self.rejected == 0 => return None,
            None => Verdict::pass(
                "early_call",
                format!(
                    "Calls {when} do no harm: {} accepted, {} refused.",
                    self.accepted, self.rejected
                ),
            ),
        };
        Some(
            verdict
                .number("accepted", self.accepted)
                .number("rejected", self.rejected),
        )
    }
}

impl EarlyCall {
    /// Makes early calls at one moment, each on a fresh session.
    async fn try_moment(
        &self,
        context: &RunContext,
        reference: &Reference,
        moment: Moment,
        place: u32,
    ) -> Tally {
        let mut tally = Tally::default();
        for iteration in 0..self.iterations {
            if !context.stop.is_running() {
                break;
            }
            let opened = match moment {
                Moment::WithList => context.connect().await.map(Some),
                Moment::BeforeInitialized => connect_unready(context).await,
            };
            let connection = match opened {
                Ok(Some(connection)) => connection,
                // This server has no such moment.
                Ok(None) => break,
                Err(error) => {
                    context.note_failure(&error);
                    let reason = format!("a new session cannot be opened: {error}");
                    tally.worst = Some(Disposition::Died(reason));
                    break;
                }
            };
            let disposition = call_early(context, &connection, reference, moment).await;
            if disposition == Disposition::Hung {
                context.note_stuck(&connection, &reference.call.tool).await;
            }
            let goes_on = tally.count(disposition);
            if goes_on {
                connection.dismiss().await;
            } else {
                connection.note_violations();
                connection.kill();
            }
            let done = place * self.iterations + iteration + 1;
            context.progress(done, 2 * self.iterations);
            if !goes_on {
                break;
            }
        }
        tally
    }
}

/// A session whose handshake is not complete; none where the server has no handshake.
async fn connect_unready(context: &RunContext) -> Result<Option<Connection>, ConnectError> {
    let protocol = match context.options.protocol {
        ProtocolChoice::Auto => ProtocolChoice::Revision(Revision::LATEST_HANDSHAKE),
        ProtocolChoice::Revision(revision) if revision.era() == Era::Stateless => return Ok(None),
        chosen @ ProtocolChoice::Revision(_) => chosen,
    };
    let opening = context.connect_with(|options| {
        options.protocol = protocol;
        options.sends_initialized = false;
    });
    match opening.await {
        Ok(connection) => Ok(Some(connection)),
        // Asked for a handshake, a server that has none says so; it was reached before.
        Err(ConnectError::Revision { .. } | ConnectError::Handshake { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes an early call, and then everything in its proper order.
async fn call_early(
    context: &RunContext,
    connection: &Connection,
    reference: &Reference,
    moment: Moment,
) -> Disposition {
    let session = &connection.session;
    let limits = context.hang_limits();
    let patience = limits.threshold.saturating_add(limits.grace);
    let request = &reference.call.request;
    let list = Request::new("tools/list").timeout(patience);
    // Both are sent before anything is waited for.
    let listing = (moment == Moment::WithList).then(|| session.start(&list));
    let outcome = match session.start_as(request, &in_phase(EARLY_PHASE)) {
        Ok(mut call) if moment == Moment::BeforeInitialized => {
            let early = tokio::time::timeout(BEFORE_INITIALIZED, &mut call).await;
            session.notify("notifications/initialized", None);
            match early {
                Ok(outcome) => outcome,
                Err(_) => call.await,
            }
        }
        Ok(call) => call.await,
        Err(error) => Err(error),
    };
    let disposition = match &outcome {
        Ok(_) => Disposition::Accepted,
        Err(error) => refused(connection, error),
    };
    if !matches!(disposition, Disposition::Accepted | Disposition::Rejected) {
        return disposition;
    }
    if let Some(Ok(listing)) = listing
        && let Err(error) = listing.await
        && !is_answer(&error)
    {
        return Disposition::Broken(format!("tools/list: {error}"));
    }
    match session.request_as(request, &in_phase(PHASE)).await {
        // Late, or failed for a reason of its own: it is answered.
        Err(error) if !is_answer(&error) => match session.closed() {
            Some(failure) => Disposition::Died(failure.message),
            None => Disposition::Broken(error.to_string()),
        },
        _ => disposition,
    }
}

/// What a server made of an early call that failed.
fn refused(connection: &Connection, error: &CallError) -> Disposition {
    match connection.session.closed() {
        Some(failure) => Disposition::Died(failure.message),
        None if is_answer(error) => Disposition::Rejected,
        None if error.category() == ErrorCategory::Disconnected => {
            Disposition::Died(error.to_string())
        }
        None => Disposition::Hung,
    }
}

impl ScenarioType for EarlyCall {
    fn drive<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<(), RunError>> {
        Box::pin(async move {
            let phases = [
                context.phase(PHASE, "in order", 1, true),
                context.phase(EARLY_PHASE, "early", 1, false),
            ];
            let first = context.connect().await?;
            let found = reference::find_first_call(context, &first, PHASE).await?;
            first.dismiss().await;
            if let Some(reference) = &found {
                let moments = [Moment::WithList, Moment::BeforeInitialized];
                for (place, moment) in (0..).zip(moments) {
                    let tally = self.try_moment(context, reference, moment, place).await;
                    if let Some(verdict) = tally.verdict(moment, &reference.call.tool) {
                        context.note_verdict(&verdict);
                    }
                    if tally.worst.is_some() {
                        break;
                    }
                }
            } else {
                context.note_verdict(&reference::missing("early_call"));
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

#[cfg(test)]
mod tests {
    use mcprove_score::verdict::Outcome;

    use super::*;

    #[test]
    fn the_worst_disposition_decides_and_none_is_no_verdict() {
        let mut tally = Tally::default();
        assert!(tally.verdict(Moment::WithList, "t").is_none());
        assert!(tally.count(Disposition::Accepted) && tally.count(Disposition::Rejected));
        let verdict = tally.verdict(Moment::WithList, "t").unwrap();
        assert_eq!(verdict.outcome, Outcome::Pass);
        assert!(verdict.sentence.contains("1 accepted, 1 refused"));
        for disposition in [
            Disposition::Hung,
            Disposition::Died("exit 1".into()),
            Disposition::Broken("x".into()),
        ] {
            let mut tally = Tally::default();
            assert!(!tally.count(disposition.clone()));
            let verdict = tally.verdict(Moment::BeforeInitialized, "t").unwrap();
            assert!(verdict.is_failure(), "{disposition:?}");
        }
    }
}
