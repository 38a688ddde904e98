//! Messages that no client should send, one after the other, and whether the server survives each.
//!
//! One session is used for as long as it lives. After each payload the server is asked whether it
//! is alive; when it is not, the payload is to blame, and the next one gets a new session. To answer a ping is not
//! enough: a call that worked before anything was sent has to work afterwards.

mod payloads;

use mcprove_client::session::RawAnswer;
use mcprove_score::fuzz::{self, Answer, FuzzCase, FuzzOutcome, classify};

use self::payloads::{Due, Frame, Payload, choose};
use crate::drive::scenario::ROWS_MAX;
use crate::drive::scenario::prelude::*;

const PHASE: u16 = 1;
/// The phase of a call that nothing is wrong with.
const REFERENCE_PHASE: u16 = 2;
/// How many times as long as a call an answer may take, and how long at most.
const CALL_FACTOR: u32 = 4;
const ANSWER_TIMEOUT_MAX: Duration = Duration::from_secs(30);
/// How many times as long as at first a liveness check may take.
const SLOWER_MAX: u32 = 4;
/// How often in a row a valid call has to fail, for a tool may fail now and then.
const CALLS_MAX: u32 = 6;
/// A valid call that takes no longer is repeated after every payload; else after those that may have to do with it.
const QUICK: Duration = Duration::from_millis(250);
/// How often in a row a new session is tried before the server counts as gone.
const OPENS_MAX: u32 = 3;
/// The pause before a session is tried again.
const PAUSE: Duration = Duration::from_millis(200);
/// How long an answer that is not due may come after the server showed that it lives: it was sent
/// its payload before that question.
const UNDUE_WAIT: Duration = Duration::from_millis(200);
/// The tool that is called where the server has none that can be.
const NO_TOOL: &str = "mcprove_no_such_tool";

pub fn payload_names() -> Vec<&'static str> {
    payloads::all()
        .map(|payload| payload.name.as_str())
        .collect()
}

/// Malformed messages, and whether the server survives each.
#[in_seconds]
#[data(Settings)]
pub struct Fuzzer {
    /// How often all payloads are sent.
    #[setting(default = 1)]
    pub iterations: u32,
    /// The payloads to send, by name; none means all.
    #[setting(kind = Kind::SomeOf(payload_names), otherwise = "all", flag = "payload")]
    pub payloads: Vec<String>,
    /// How long each answer may take.
    #[setting(default = "2s")]
    pub answer_timeout: Duration,
}

/// How a payload ended.
#[stored]
#[serde(transparent)]
struct FuzzFact(FuzzCase);

impl Fact for FuzzFact {
    const NAME: &'static str = "fuzz_case";
}

/// What was seen of a payload.
struct Seen {
    answer: Option<RawAnswer>,
    is_answer_due: bool,
    /// Whether the server answers afterwards.
    is_alive: bool,
    aftermath: Aftermath,
}

impl Seen {
    /// Whether a valid call after it failed, or was not answered.
    fn has_failed(&self) -> bool {
        matches!(self.aftermath, Aftermath::Fails(_) | Aftermath::Stuck)
    }
}

/// What came of a valid call after a payload.
enum Aftermath {
    /// It was not made, or its end says nothing.
    Unknown,
    Works,
    /// It failed as often as it was tried, in this way at last.
    Fails(String),
    /// It got no answer.
    Stuck,
}

/// What payloads are sent with: a tool to call with arguments that it accepts, and how long to wait.
struct Trial<'a> {
    context: &'a RunContext,
    tool: String,
    arguments: Value,
    /// How long an answer may take.
    answer_timeout: Duration,
    /// How long the server may take to show that it lives: the hang threshold, or several times as long as it takes
    /// before anything was done to it.
    alive_timeout: Duration,
    /// A valid call that worked before.
    reference: Option<Reference>,
    /// Whether that no longer works anywhere, so that it says nothing of what is sent next.
    is_reference_lost: AtomicBool,
}

impl Trial<'_> {
    /// Sends a payload and notes what comes of it. What only a valid call after it shows counts if a fresh session shows
    /// it again: a server that fails now and then by itself does not fail because of a payload.
    async fn examine(
        &self,
        connection: Connection,
        payload: &'static Payload,
        is_last: bool,
    ) -> Option<Connection> {
        let seen = self.send(&connection, payload, is_last).await;
        let is_over = connection.session.closed().is_some();
        if seen.is_alive && (is_over || seen.has_failed()) {
            let reason = format!("after the payload {}", payload.name);
            if let Ok(fresh) = reopen(self.context, &reason).await {
                connection.finish(true).await;
                let again = self.send(&fresh, payload, is_last).await;
                return self.conclude(fresh, payload, &again).await;
            }
        }
        self.conclude(connection, payload, &seen).await
    }

    /// Sends a payload, asks whether the server is alive afterwards, and whether a call works that worked before.
    async fn send(
        &self,
        connection: &Connection,
        payload: &'static Payload,
        is_last: bool,
    ) -> Seen {
        let session = &connection.session;
        let is_answer_due = match payload.due {
            Due::Yes => true,
            Due::No => false,
            Due::WithBatches => session.facts().revision.has_batches(),
        };
        let meta = session.request_meta();
        let frame = Frame {
            id: session.reserve_id(),
            tool: &self.tool,
            arguments: &self.arguments,
            meta: &meta,
        };
        let messages = payload.build(&frame);
        let mut ids = vec![frame.id.to_string()];
        ids.extend(payload.ids.iter().cloned());
        let is_named = payload.due == Due::Yes && payload.ids.is_empty();
        let sending = session.exchange_raw(&messages, &ids, is_named, self.alive_timeout);
        // Closed, or not reading: what is wrong shows at the liveness check.
        let exchange = sending.await.ok();
        let wait = async |time| {
            if let Some(exchange) = &exchange {
                let _ = tokio::time::timeout(time, exchange.wait()).await;
            }
        };
        if is_answer_due {
            wait(self.answer_timeout).await;
        }
        let is_alive = is_alive(session, self.alive_timeout).await;
        if is_alive && !is_answer_due {
            wait(UNDUE_WAIT.min(self.answer_timeout)).await;
        }
        let answer = exchange.and_then(|exchange| exchange.answer());
        let reference = self.reference.as_ref();
        let is_quick = reference.is_some_and(|reference| reference.duration <= QUICK);
        let is_related = payload.is_call() || answer.is_none() || is_last;
        let aftermath = if is_alive && (is_quick || is_related) {
            self.call_again(connection).await
        } else {
            Aftermath::Unknown
        };
        Seen {
            answer,
            is_answer_due,
            is_alive,
            aftermath,
        }
    }

    /// Makes the call that worked before.
    async fn call_again(&self, connection: &Connection) -> Aftermath {
        let is_lost = self.is_reference_lost.load(Ordering::Relaxed);
        let Some(reference) = self.reference.as_ref().filter(|_| !is_lost) else {
            return Aftermath::Unknown;
        };
        let patience = self.context.hang_limits().judged_after();
        let request = reference.call.request.clone();
        let request = request.timeout(patience.max(self.alive_timeout));
        let session = &connection.session;
        let mut aftermath = Aftermath::Unknown;
        for _ in 0..CALLS_MAX {
            let start = in_phase(REFERENCE_PHASE);
            let Err(error) = session.request_as(&request, &start).await else {
                return Aftermath::Works;
            };
            match error.category() {
                _ if session.closed().is_some() || error.failure.is_rate_limited() => {
                    return Aftermath::Unknown;
                }
                ErrorCategory::Timeout | ErrorCategory::Deadlock => return Aftermath::Stuck,
                ErrorCategory::ToolError
                | ErrorCategory::ServerError
                | ErrorCategory::ProtocolError => aftermath = Aftermath::Fails(error.to_string()),
                ErrorCategory::Disconnected => {}
                // Late is not never, and a broken answer has a verdict of its own.
                _ => return Aftermath::Unknown,
            }
        }
        aftermath
    }

    /// Whether the call that worked before works on a fresh session. If not, what comes next is not to blame for it.
    async fn works_on(&self, fresh: Option<&Connection>) -> bool {
        let aftermath = match fresh {
            Some(connection) => self.call_again(connection).await,
            None => Aftermath::Unknown,
        };
        let works = matches!(aftermath, Aftermath::Works);
        self.is_reference_lost.fetch_or(!works, Ordering::Relaxed);
        works
    }

    /// Notes the outcome of a payload, and returns the session for the next: the same, or a new one
    /// if that is over. None when the server is gone.
    async fn conclude(
        &self,
        connection: Connection,
        payload: &Payload,
        seen: &Seen,
    ) -> Option<Connection> {
        let session = &connection.session;
        let closed = session.closed();
        let is_ours = session.process().is_some();
        let said = match &seen.answer {
            Some(answer) if answer.is_error => Answer::Error,
            Some(_) => Answer::Result,
            None => Answer::None,
        };
        let has_worked = !seen.has_failed();
        if seen.is_alive && closed.is_none() && has_worked {
            self.note_case(payload, seen, classify(said, true, false), None, false);
            return Some(connection);
        }
        connection.finish(true).await;
        drop(connection);
        let reopened = reopen(self.context, &format!("after the payload {}", payload.name)).await;
        let is_gone = match &reopened {
            // Our own process: another one says nothing of it.
            _ if is_ours => closed.is_some(),
            Ok(_) => false,
            Err(error) => !error.is_silence(),
        };
        // A server that closed the connection and takes another one has only refused.
        let is_refusal = closed.is_some() && reopened.is_ok() && !is_gone;
        let said = if is_refusal { Answer::Error } else { said };
        let is_fine = !has_worked && self.works_on(reopened.as_ref().ok()).await;
        let outcome = match seen.aftermath {
            Aftermath::Fails(_) if closed.is_none() => FuzzOutcome::Broken,
            _ => classify(said, is_refusal, is_gone),
        };
        self.note_case(payload, seen, outcome, closed.as_ref(), is_fine);
        reopened.ok()
    }

    /// Notes how a payload ended; `closed` tells how the connection did, if it did.
    fn note_case(
        &self,
        payload: &Payload,
        seen: &Seen,
        outcome: FuzzOutcome,
        closed: Option<&Failure>,
        is_fresh_fine: bool,
    ) {
        let said = seen.answer.as_ref().map(|answer| answer.text.as_str());
        let closed = closed.map(|failure| failure.message.as_str());
        let what = match outcome {
            FuzzOutcome::Broken => match &seen.aftermath {
                Aftermath::Fails(message) => message,
                _ => "a valid call fails",
            },
            FuzzOutcome::Wedged if seen.is_alive => {
                "a valid call that worked before is not answered any more"
            }
            FuzzOutcome::Wedged => "the server no longer answers a liveness check",
            FuzzOutcome::Crashed => closed.unwrap_or("the server cannot be reached any more"),
            FuzzOutcome::Unanswered => "no answer",
            FuzzOutcome::Rejected | FuzzOutcome::Accepted => said.or(closed).unwrap_or_default(),
        };
        let case = FuzzCase {
            payload: payload.name.clone(),
            outcome,
            detail: format!("{}: {what}", payload.explanation),
            times: 1,
            is_answer_due: seen.is_answer_due,
            is_fresh_fine,
        };
        self.context.fact(&payload.name, &FuzzFact(case));
    }
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

/// What can be said where liveness cannot be checked.
fn unjudgeable() -> Verdict {
    Verdict::inconclusive(
        fuzz::ID,
        "No bad input was sent: the server does not answer a liveness check (ping, or server/discover) to begin with, so liveness after bad input cannot be checked.",
        "answer ping, as the protocol asks for",
    )
}

/// What can be said of payloads that found no server any more.
fn untried(count: u32) -> Verdict {
    Verdict::inconclusive(
        fuzz::ID,
        format!("The server was gone before all bad input was sent: {count} more to go."),
        "correct what ended it and run again, or name the other payloads",
    )
    .number("untried", count)
}

/// The tool that payloads call, and its arguments: the first that may be called, where there is one.
async fn target(context: &RunContext, session: &Session) -> Result<(String, Value), RunError> {
    let tools = context.list_tools(session).await?;
    let calls = if context.scenario.tool_calls.is_empty() {
        free_calls(context, &tools).unwrap_or_default()
    } else {
        calls_for(context, &tools)?
    };
    let Some(call) = calls.first() else {
        return Ok((NO_TOOL.to_owned(), json!({})));
    };
    let call = PreparedCall::new(context, session, &tools, call)?;
    let arguments = arguments_of(&call);
    Ok((call.tool, arguments))
}

/// A call that nothing is wrong with, and that works on a session of its own; none if it is not answered in time.
async fn call_alone(context: &RunContext) -> Option<Reference> {
    let connection = context.connect().await.ok()?;
    let calling = reference::find_first_call(context, &connection, REFERENCE_PHASE);
    // Given up before anybody could take it for a deadlock.
    let limits = context.hang_limits();
    let found = tokio::time::timeout(limits.threshold + limits.grace / 2, calling).await;
    connection.finish(true).await;
    found.ok().and_then(|found| found.ok().flatten())
}

/// The arguments of a call that is ready.
fn arguments_of(call: &PreparedCall) -> Value {
    let mut params: Value = serde_json::from_str(&call.request.params).unwrap_or_default();
    let arguments = params.get_mut("arguments").map(Value::take);
    arguments.unwrap_or_default()
}

/// A new session after the last one was lost.
async fn reopen(context: &RunContext, reason: &str) -> Result<Connection, ConnectError> {
    let mut attempt = 1;
    loop {
        match context.reconnect(None, attempt, reason).await {
            Ok(connection) => {
                // A client knows the tools before it calls one; what comes of that shows later.
                let _ = connection.session.list_tools().await;
                return Ok(connection);
            }
            // One that is there and says nothing: asking again takes as long again.
            Err(error)
                if error.is_silence() || attempt == OPENS_MAX || !context.stop.is_running() =>
            {
                return Err(error);
            }
            Err(_) => {}
        }
        attempt += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

impl ScenarioType for Fuzzer {
    fn questions(&self) -> &'static [&'static str] {
        &[fuzz::ID]
    }

    fn drive<'a>(&'a self, context: &'a RunContext) -> Steps<'a> {
        Box::pin(async move {
            let payloads = choose(&self.payloads);
            let first = context.connect().await?;
            let phase = context.phase(PHASE, "fuzz", 1, true);
            let (mut tool, mut arguments) = target(context, &first.session).await?;
            let patience = context.server.startup_timeout;
            let Ok(answered) = first.session.check_alive(patience).await else {
                context.note_verdict(&unjudgeable());
                first.end().await;
                return Ok(());
            };
            let mut reference = None;
            if tool != NO_TOOL {
                reference = call_alone(context).await;
            }
            if let Some(reference) = &reference {
                tool.clone_from(&reference.call.tool);
                arguments = arguments_of(&reference.call);
            }
            let alone = reference.as_ref().map(|reference| reference.duration);
            let alone = alone.unwrap_or_default();
            let answer_timeout = (alone * CALL_FACTOR).min(ANSWER_TIMEOUT_MAX);
            let answer_timeout = answer_timeout.max(self.answer_timeout);
            let threshold = context.hang_limits().threshold.max(answer_timeout);
            let trial = Trial {
                context,
                tool,
                arguments,
                answer_timeout,
                alive_timeout: threshold.max(answered.saturating_mul(SLOWER_MAX)),
                reference,
                is_reference_lost: AtomicBool::default(),
            };
            let total = u32::try_from(payloads.len())
                .unwrap_or(u32::MAX)
                .saturating_mul(self.iterations);
            let mut current = Some(first);
            let mut done = 0;
            for (_, payload) in context.rounds(total).zip(payloads.iter().cycle()) {
                let Some(connection) = current.take() else {
                    break;
                };
                done += 1;
                let is_last = done == total;
                current = trial.examine(connection, payload, is_last).await;
            }
            if current.is_none() && done < total {
                context.note_verdict(&untried(total - done));
            }
            if let Some(connection) = current {
                connection.end().await;
            }
            context.end_phases([phase]);
            Ok(())
        })
    }

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> FactResult {
        let cases: Vec<FuzzFact> = facts.all()?;
        let judged = fuzz::report(cases.into_iter().map(|case| case.0).collect());
        let checks: Vec<CheckFact> = facts.all()?;
        // Why nothing was sent is a verdict already.
        if !(judged.cases.is_empty() && checks.iter().any(|check| check.detector == fuzz::ID)) {
            report.verdicts.push(fuzz::verdict(&judged));
        }
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

    fn sections(&self, report: &Report) -> Vec<Section> {
        report.fuzz.iter().map(fuzz_section).collect()
    }

    fn summary(&self, _: Shape) -> Vec<String> {
        let which = match number::count(self.payloads.len()) {
            0 => "all payloads".to_owned(),
            count => counted(count, "payload"),
        };
        vec![which, counted(self.iterations.into(), "time")]
    }
}

fn fuzz_section(report: &FuzzReport) -> Section {
    let counts = format!(
        "Rejected: {} · Accepted: {} · Unanswered: {} · Wedged: {} · Crashed: {}",
        report.rejected, report.accepted, report.unanswered, report.wedged, report.crashed
    );
    let counts = match report.broken {
        0 => counts,
        broken => format!("{counts} · Broken: {broken}"),
    };
    let mut cases: Vec<_> = report.cases.iter().collect();
    // The worst outcome first.
    cases.sort_by_key(|case| std::cmp::Reverse(case.outcome));
    let rows = cases.into_iter().take(ROWS_MAX).map(|case| {
        let outcome = match name_of(case.outcome) {
            name if case.outcome >= FuzzOutcome::Broken => Line::strong(name),
            name => name.into(),
        };
        cells![outcome, Line::code(&case.payload), case.times, &case.detail]
    });
    let table = Table::new(["Outcome", "Payload", "times", "What was seen"])
        .numbers(2..3)
        .rows(rows);
    let section = Section::new("Fuzzing")
        .paragraph(counts)
        .table(table.at_most(5));
    and_more(section, report.cases.len(), "payloads")
}
