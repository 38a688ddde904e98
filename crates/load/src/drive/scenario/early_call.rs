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

/// What the early calls of a run have in common.
struct Trial<'a> {
    context: &'a RunContext,
    reference: &'a Reference,
    /// Whether each session has a server of its own, so that one says nothing of the next.
    has_own_server: bool,
    is_handshake: bool,
    /// Whether a session could not be opened at first.
    has_failed_start: AtomicBool,
}

impl Trial<'_> {
    /// Opens a session for start `number`; none where the server has no such moment. One that fails is tried once more,
    /// and is a start that failed all the same.
    async fn open(
        &self,
        number: u32,
        is_with_list: bool,
    ) -> Result<Option<Connection>, ConnectError> {
        let open = async || {
            if is_with_list {
                self.context.connect_start(number, |_| {}).await.map(Some)
            } else {
                connect_unready(self.context, number, self.is_handshake).await
            }
        };
        let opened = open().await;
        if opened.as_ref().is_err_and(|error| !error.is_rate_limited()) {
            self.has_failed_start.store(true, Ordering::Relaxed);
            self.context.pause(PAUSE).await;
            return open().await;
        }
        opened
    }

    /// Makes an early call on a fresh session; whether it was accepted, or what it did. None where the server has no such
    /// moment.
    async fn call(&self, number: u32, is_with_list: bool) -> Option<Result<bool, Ended>> {
        let connection = match self.open(number, is_with_list).await {
            Ok(connection) => connection?,
            Err(error) => return Some(Err(self.unopened(&error))),
        };
        let outcome = call_early(self.context, &connection, self.reference, is_with_list).await;
        let Err(Ended::Harm { what, is_stuck }) = outcome else {
            match &outcome {
                Ok(_) => connection.dismiss().await,
                Err(_) => connection.finish(true).await,
            }
            return Some(outcome);
        };
        let ended = if self.has_own_server {
            connection.finish(true).await;
            self.repeat(number, is_with_list, &what).await
        } else {
            if is_stuck {
                self.note_stuck(&connection).await;
            }
            connection.finish(true).await;
            Ended::Harm { what, is_stuck }
        };
        Some(Err(ended))
    }

    /// Repeats an early call that did harm, and makes the same calls in order, each on a fresh session: a server that
    /// fails now and then is not to be blamed for failing just then.
    async fn repeat(&self, number: u32, is_with_list: bool, what: &str) -> Ended {
        let again = match self.open(number, is_with_list).await {
            Ok(Some(connection)) => connection,
            Ok(None) => return Ended::Undecided(format!("{what}; it could not be repeated")),
            Err(error) => return self.unopened(&error),
        };
        let (context, reference) = (self.context, self.reference);
        let outcome = call_early(context, &again, reference, is_with_list).await;
        let Err(Ended::Harm { what, is_stuck }) = outcome else {
            again.dismiss().await;
            return Ended::Undecided(format!("{what}, and not when it was repeated"));
        };
        let in_order = match context.connect_start(number, |_| {}).await {
            Ok(connection) => {
                let failed = call_in_order(context, &connection, reference).await;
                connection.finish(true).await;
                failed.map(|error| error.to_string())
            }
            Err(error) => Some(error.to_string()),
        };
        if is_stuck && in_order.is_none() {
            self.note_stuck(&again).await;
        }
        again.finish(true).await;
        match in_order {
            Some(error) => Ended::Undecided(format!(
                "{what}, but not always: the last failed with {error}"
            )),
            None => Ended::Harm { what, is_stuck },
        }
    }

    async fn note_stuck(&self, connection: &Connection) {
        let tool = &self.reference.call.tool;
        self.context.note_stuck(connection, tool).await;
    }

    /// What a session that cannot be opened says: of a server of its own, that starts fail, which is told as such.
    fn unopened(&self, error: &ConnectError) -> Ended {
        if error.is_rate_limited() || self.has_own_server {
            Ended::Undecided(format!("could not be made: {error}"))
        } else {
            died(&format!("a new session cannot be opened: {error}"))
        }
    }
}

/// Makes the calls in their proper order; why it failed, if it was not answered.
async fn call_in_order(
    context: &RunContext,
    connection: &Connection,
    reference: &Reference,
) -> Option<CallError> {
    let list = Request::new("tools/list").timeout(context.hang_limits().judged_after());
    let listed = connection.session.request(&list).await.err();
    if let Some(error) = listed.filter(|error| !is_answer(error)) {
        return Some(error);
    }
    let called = connection.call(&reference.call, PHASE).await.err();
    called.filter(|error| !is_answer(error))
}

impl EarlyCall {
    /// Makes early calls, each on a fresh session; what became of those with the list, and of those after it.
    async fn call_early(&self, trial: &Trial<'_>) -> [Tally; 2] {
        let mut tallies = [Tally::default(), Tally::default()];
        let [with_list, uninitialized] = &mut tallies;
        let mut made = 0;
        for round in trial.context.rounds(2 * self.iterations) {
            let is_with_list = round < self.iterations;
            let tally = if is_with_list {
                &mut *with_list
            } else {
                &mut *uninitialized
            };
            let Some(outcome) = trial.call(round, is_with_list).await else {
                break;
            };
            made = round + 1;
            tally.count(outcome);
            if tally.ended.is_some() {
                break;
            }
        }
        if trial.has_failed_start.load(Ordering::Relaxed) {
            trial.context.plan_starts(StartUnit::Start, made);
        }
        tallies
    }
}

fn died(reason: &str) -> Ended {
    Ended::harm(format!("ends the server: {reason}"))
}

/// A session whose handshake is not complete; none where the server has no handshake.
async fn connect_unready(
    context: &RunContext,
    number: u32,
    is_handshake: bool,
) -> Result<Option<Connection>, ConnectError> {
    let protocol = match context.options.protocol {
        ProtocolChoice::Auto => ProtocolChoice::Revision(Revision::LATEST_HANDSHAKE),
        ProtocolChoice::Revision(revision) if revision.era() == Era::Stateless => return Ok(None),
        chosen @ ProtocolChoice::Revision(_) => chosen,
    };
    let adjust = |options: &mut SessionOptions| {
        options.protocol = protocol;
        options.sends_initialized = false;
    };
    if is_handshake {
        return context.connect_start(number, adjust).await.map(Some);
    }
    match context.connect_with(adjust).await {
        Ok(connection) => Ok(Some(connection)),
        // Asked for a handshake, a server that has none says so; it was reached before.
        Err(ConnectError::Revision { .. } | ConnectError::Handshake { .. }) => Ok(None),
        Err(error) => {
            context.note_failure(&error);
            Err(error)
        }
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
            let session = &first.session;
            let has_own_server = session.process().is_some() || session.transport() == "memory";
            let is_handshake = session.era() == Era::Handshake;
            first.dismiss().await;
            if let Some(reference) = &found {
                let trial = Trial {
                    context,
                    reference,
                    has_own_server,
                    is_handshake,
                    has_failed_start: AtomicBool::default(),
                };
                let tallies = self.call_early(&trial).await;
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
            failures_told_by: Some(EARLY_CALL),
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
