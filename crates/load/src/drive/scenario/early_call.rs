//! Calls that come before a server expects them: before its list of tools is complete, and before
//! the handshake is. To take such a call or to refuse it is fine; to hang, or to die of it, is not.

use mcprove_client::transport::Detail;

use super::prelude::*;
use super::reference::is_answer;

const EARLY_CALL: &str = "early_call";

/// The phase of the calls in their proper order.
const PHASE: u16 = 1;
/// The phase of the calls that come early.
const EARLY_PHASE: u16 = 2;
/// How long a call that came before `notifications/initialized` has to wait for that: it may be
/// held back until then, and must not be afterwards.
const BEFORE_INITIALIZED: Duration = Duration::from_millis(300);

/// The pause before a session is tried again that could not be opened.
const PAUSE: Duration = Duration::from_millis(200);

/// Calls before the list of tools is complete, and before initialization.
#[data(Settings)]
pub struct EarlyCall {
    /// How often, each on a fresh session.
    #[setting(default = 3)]
    pub iterations: u32,
}

/// Together with `tools/list`.
const WITH_LIST: &str = "before tools/list was answered";
/// After the answer to `initialize`.
const UNINITIALIZED: &str = "before notifications/initialized";

/// Why an early call is the last one of its moment.
enum Ended {
    /// What it did to the server, and whether calls hang since.
    Harm { what: String, is_stuck: bool },
    /// Why nothing can be said of it.
    Undecided(String),
}

impl Ended {
    fn harm(what: String) -> Self {
        let is_stuck = false;
        Self::Harm { what, is_stuck }
    }

    /// Of a call that was not answered, though it was answered before.
    fn unanswered(error: &CallError) -> Self {
        let what = format!("got {error}; in the proper order it is answered");
        if error.failure.detail == Detail::Queued {
            return Self::Undecided(format!("{what}, and it may still be queued"));
        }
        let is_stuck = true;
        Self::Harm { what, is_stuck }
    }
}

/// What became of the early calls of one moment.
#[derive(Default)]
struct Tally {
    accepted: u32,
    rejected: u32,
    /// Why there is no more to learn.
    ended: Option<Ended>,
}

impl Tally {
    /// Counts a call that was accepted or refused, or did harm.
    fn count(&mut self, outcome: Result<bool, Ended>) {
        match outcome {
            Ok(true) => self.accepted += 1,
            Ok(false) => self.rejected += 1,
            Err(ended) => self.ended = Some(ended),
        }
    }

    /// What that says of the server; nothing when no early call was made.
    fn verdict(&self, when: &str, tool: &str) -> Option<Verdict> {
        let (accepted, rejected) = (self.accepted, self.rejected);
        let verdict = match &self.ended {
            Some(Ended::Harm { what, .. }) => Verdict::critical(
                EARLY_CALL,
                format!("A call of {tool} {when} {what}."),
                "set up what calls need before the first message is read, or refuse with an error until it is set up",
            ),
            Some(Ended::Undecided(why)) => Verdict::inconclusive(
                EARLY_CALL,
                format!("A call of {tool} {when} {why}."),
                "run again when the server is less busy",
            ),
            None if accepted + rejected == 0 => return None,
            None => Verdict::pass(
                EARLY_CALL,
                format!("Calls {when} do no harm: {accepted} accepted, {rejected} refused."),
            ),
        };
        Some(
            verdict
                .number("accepted", accepted)
                .number("rejected", rejected),
        )
    }
}

impl EarlyCall {
    /// Makes early calls, each on a fresh session; what became of those with the list, and of those after it.
    async fn call_early(&self, context: &RunContext, reference: &Reference) -> [Tally; 2] {
        let mut tallies = [Tally::default(), Tally::default()];
        let [with_list, uninitialized] = &mut tallies;
        for round in context.rounds(2 * self.iterations) {
            let is_with_list = round < self.iterations;
            let tally = if is_with_list {
                &mut *with_list
            } else {
                &mut *uninitialized
            };
            let open = async || {
                if is_with_list {
                    context.connect().await.map(Some)
                } else {
                    connect_unready(context).await
                }
            };
            let mut opened = open().await;
            // Once is a chance.
            if opened.as_ref().is_err_and(|error| !error.is_rate_limited()) {
                context.pause(PAUSE).await;
                opened = open().await;
            }
            let connection = match opened {
                Ok(Some(connection)) => connection,
                // This server has no such moment.
                Ok(None) => break,
                Err(error) => {
                    context.note_failure(&error);
                    tally.ended = Some(if error.is_rate_limited() {
                        Ended::Undecided(format!("could not be made: {error}"))
                    } else {
                        died(&format!("a new session cannot be opened: {error}"))
                    });
                    break;
                }
            };
            tally.count(call_early(context, &connection, reference, is_with_list).await);
            if matches!(tally.ended, Some(Ended::Harm { is_stuck: true, .. })) {
                context.note_stuck(&connection, &reference.call.tool).await;
            }
            if tally.ended.is_some() {
                connection.finish(true).await;
                break;
            }
            connection.dismiss().await;
        }
        tallies
    }
}

fn died(reason: &str) -> Ended {
    Ended::harm(format!("ends the server: {reason}"))
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

/// Makes an early call, and then everything in its proper order. Whether it was accepted, or what it did to the server.
async fn call_early(
    context: &RunContext,
    connection: &Connection,
    reference: &Reference,
    is_with_list: bool,
) -> Result<bool, Ended> {
    let session = &connection.session;
    let limits = context.hang_limits();
    let patience = limits.threshold.saturating_add(limits.grace);
    let list = Request::new("tools/list").timeout(patience);
    // Both are sent before anything is waited for.
    let listing = is_with_list.then(|| session.start(&list));
    let outcome = match session.start_as(&reference.call.request, &in_phase(EARLY_PHASE)) {
        Ok(call) if is_with_list => call.await,
        Ok(mut call) => {
            let early = tokio::time::timeout(BEFORE_INITIALIZED, &mut call).await;
            session.notify("notifications/initialized", None);
            match early {
                Ok(outcome) => outcome,
                Err(_) => call.await,
            }
        }
        Err(error) => Err(error),
    };
    if let Err(error) = &outcome {
        match session.closed() {
            Some(failure) => return Err(died(&failure.message)),
            None if is_answer(error) => {}
            None if error.category() == ErrorCategory::Disconnected => {
                return Err(died(&error.to_string()));
            }
            None => return Err(Ended::unanswered(error)),
        }
    }
    let broken = |error: &CallError, what: String| {
        let what = format!("is answered, and then nothing works any more: {what}");
        match error.failure.detail {
            Detail::Queued => Ended::Undecided(what),
            _ => Ended::harm(what),
        }
    };
    if let Some(Ok(listing)) = listing
        && let Err(error) = listing.await
        && !is_answer(&error)
    {
        return Err(broken(&error, format!("tools/list: {error}")));
    }
    match connection.call(&reference.call, PHASE).await {
        // Late, or failed for a reason of its own: it is answered.
        Err(error) if !is_answer(&error) => Err(match session.closed() {
            Some(failure) => died(&failure.message),
            None => broken(&error, error.to_string()),
        }),
        _ => Ok(outcome.is_ok()),
    }
}

impl ScenarioType for EarlyCall {
    fn questions(&self) -> &'static [&'static str] {
        &[EARLY_CALL]
    }

    fn drive<'a>(&'a self, context: &'a RunContext) -> Steps<'a> {
        Box::pin(async move {
            let phases = [
                context.phase(PHASE, "in order", 1, true),
                context.phase(EARLY_PHASE, "early", 1, false),
            ];
            let first = context.connect().await?;
            let found = reference::find_first_call(context, &first, PHASE).await?;
            first.dismiss().await;
            if let Some(reference) = &found {
                let tallies = self.call_early(context, reference).await;
                for (tally, when) in tallies.iter().zip([WITH_LIST, UNINITIALIZED]) {
                    if let Some(verdict) = tally.verdict(when, &reference.call.tool) {
                        context.note_verdict(&verdict);
                    }
                }
            } else {
                context.note_verdict(&reference::missing(EARLY_CALL));
            }
            context.end_phases(phases);
            Ok(())
        })
    }

    fn judging(&self) -> Judging {
        Judging {
            interrupts_calls: true,
            hangs_told_by: Some(EARLY_CALL),
            ..Judging::leaving_calls()
        }
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
        assert!(tally.verdict(WITH_LIST, "t").is_none());
        tally.count(Ok(true));
        tally.count(Ok(false));
        let verdict = tally.verdict(WITH_LIST, "t").unwrap();
        assert_eq!(verdict.outcome, Outcome::Pass);
        assert!(
            verdict
                .sentence
                .rendered()
                .contains("1 accepted, 1 refused")
        );
        let late = |detail| {
            let failure = Failure::timeout("no answer within 15 s").with(detail);
            Ended::unanswered(&CallError::unsent(failure))
        };
        let cases = [
            (late(Detail::None), Outcome::Finding),
            (late(Detail::Queued), Outcome::Inconclusive),
            (died("exit 1"), Outcome::Finding),
        ];
        for (ended, expected) in cases {
            let mut tally = Tally::default();
            tally.count(Ok(true));
            tally.count(Err(ended));
            let verdict = tally.verdict(UNINITIALIZED, "t").unwrap();
            assert_eq!(verdict.outcome, expected, "{:?}", verdict.sentence);
        }
    }
}
