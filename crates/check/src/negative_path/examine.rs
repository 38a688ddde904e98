//! Making the bad requests, one after the other: what came back, and whether that keeps the contract.

use super::{
    BadRequest, Breach, NegativePathReport, Probe, RequestOutcome, RequestReport, Subject,
};
use crate::prelude::*;
use crate::pulse::{FIRST_TIMEOUT, Pulse, end_within};

/// How much of an answer is told.
const ANSWER_CHARACTERS_MAX: usize = 300;
/// How much of what was sent is told.
const SENT_CHARACTERS_MAX: usize = 200;
/// How much of what the server wrote to stderr is told.
const STDERR_CHARACTERS_MAX: usize = 500;
/// How much longer than one request a call of several may take.
const GRACE: Duration = Duration::from_secs(1);
/// How long the end of a connection is waited for after an answer, where `ping` says nothing.
const SETTLE: Duration = Duration::from_millis(200);

const GONE: &str = "the server did not survive it";
const GONE_ADVICE: &str =
    "The bad request ended the server: look at what it does once it has answered with an error";
const STOPPED_ADVICE: &str = "The bad request broke the server: look for a lock, a loop or a task that the way to its \
     error leaves behind";

/// Where sessions for probes come from.
pub trait Sessions: Send {
    /// The session, or another one once it was replaced. Why there is none is told in a sentence.
    fn session(&mut self) -> BoxFuture<'_, Result<Arc<Session>, String>>;

    /// The session hung or died: the next probe needs another.
    fn replace(&mut self);

    /// What is known of how the server answers `ping`.
    fn pulse(&self) -> Arc<Pulse>;
}

/// What is to be examined.
#[derive(Debug)]
pub struct Examination<'a> {
    /// The tool.
    pub subject: &'a Subject<'a>,
    /// The probes that are made, in this order.
    pub probes: &'a [Probe],
    /// How long each may take before it counts as hung.
    pub timeout: Duration,
}

/// Makes the bad requests, each with a session that works. Whether the server answers `ping` is found out
/// before the first: only then it says something that it does not afterwards.
pub async fn examine(
    examination: &Examination<'_>,
    sessions: &mut dyn Sessions,
) -> NegativePathReport {
    let timeout = examination.timeout;
    let pulse = sessions.pulse();
    let mut probes = Vec::with_capacity(examination.probes.len());
    let mut is_first = true;
    for &probe in examination.probes {
        let began = Instant::now();
        let mut report = RequestReport {
            probe,
            outcome: RequestOutcome::Passed,
            breach: None,
            unquoted: None,
            duration: Duration::ZERO,
        };
        match probe.request(examination.subject) {
            Err(reason) => report.outcome = RequestOutcome::Skipped(reason),
            Ok(request) => {
                let session = if std::mem::take(&mut is_first) {
                    first_session(sessions, &pulse, timeout).await
                } else {
                    sessions.session().await
                };
                let asked = match session {
                    Err(reason) => Ok(RequestOutcome::Undone(reason)),
                    Ok(session) => ask(&session, probe, &request, timeout, &pulse).await,
                };
                match asked {
                    Ok(outcome) => report.outcome = outcome,
                    Err(broken) => {
                        let quoted = broken.describe(probe, &request, &broken.full);
                        report.outcome = RequestOutcome::Failed(quoted);
                        let unquoted = broken.describe(probe, &request, &broken.breach.found);
                        report.unquoted = Some(unquoted);
                        if broken.is_end {
                            sessions.replace();
                        }
                        report.breach = Some(broken.breach);
                    }
                }
            }
        }
        report.duration = began.elapsed();
        probes.push(report);
    }
    NegativePathReport {
        probes,
        is_ping_unanswered: !is_first && pulse.is_answered() == Some(false),
    }
}

/// The session for the first bad request, once it is known whether the server answers `ping` there. One in
/// which a request was left unanswered may be busy with it, and is replaced.
async fn first_session(
    sessions: &mut dyn Sessions,
    pulse: &Pulse,
    timeout: Duration,
) -> Result<Arc<Session>, String> {
    let session = sessions.session().await?;
    pulse.find_out(&session, timeout.min(FIRST_TIMEOUT)).await;
    if session.has_unanswered() || session.closed().is_some() {
        sessions.replace();
        return sessions.session().await;
    }
    Ok(session)
}

/// A contract that was broken.
struct Broken {
    /// What was expected, and its outcome, in short.
    breach: Breach,
    /// Its outcome, with what the server said.
    full: String,
    /// What was as it should be.
    before: &'static str,
    advice: String,
    /// Whether the session came to its end over it.
    is_end: bool,
}

impl Broken {
    /// The probe, its fault, what was sent, what came back, what to do.
    fn describe(&self, probe: Probe, request: &BadRequest, found: &str) -> String {
        let entry = probe.entry();
        format!(
            "{} ({}, arXiv:{}): sent {}: {}; {}expected {}, but {found}. {}",
            entry.name,
            entry.taxonomy,
            entry.paper,
            request.what,
            shorten(&request.arguments.to_string(), SENT_CHARACTERS_MAX),
            self.before,
            self.breach.expected,
            self.advice,
        )
    }
}

/// Makes one bad request.
async fn ask(
    session: &Session,
    probe: Probe,
    request: &BadRequest,
    timeout: Duration,
    pulse: &Pulse,
) -> Result<RequestOutcome, Broken> {
    let call = session.call_tool_within(&request.tool, &request.arguments, timeout);
    // A call may take several requests, of which each has the deadline to itself.
    let outcome = match tokio::time::timeout(timeout.saturating_add(GRACE), call).await {
        Ok(outcome) => outcome,
        Err(_) => Err(unanswered(timeout)),
    };
    let (answer, said) = Answer::of(&outcome);
    if answer == Answer::Unclear {
        return Ok(RequestOutcome::Skipped(said));
    }
    let entry = probe.entry();
    if answer.keeps(entry.demands) {
        return outlived(session, timeout, pulse).await;
    }
    let found = answer.in_short();
    let mut full = format!("{found}: {said}");
    let is_end = matches!(answer, Answer::Hung | Answer::Died) || session.closed().is_some();
    if is_end {
        full = with_stderr(full, session);
    }
    Err(Broken {
        breach: Breach {
            expected: entry.contract.into(),
            found: found.into(),
        },
        full,
        before: "",
        advice: format!("To fix it, {}", entry.advice),
        is_end,
    })
}

/// Whether the server is still there after an answer that is as it should be.
async fn outlived(
    session: &Session,
    timeout: Duration,
    pulse: &Pulse,
) -> Result<RequestOutcome, Broken> {
    let (found, why, advice) = if pulse.is_answered() == Some(true) {
        let alive = session.check_alive(timeout).await;
        match alive.err().map(|error| Answer::of(&Err(error))) {
            Some((Answer::Hung, _)) => {
                let waited = describe_duration(timeout);
                let why =
                    format!("`ping`, which it answered before, had no answer within {waited}");
                ("the server then stopped answering", why, STOPPED_ADVICE)
            }
            Some((Answer::Died, why)) => (GONE, why, GONE_ADVICE),
            _ => return Ok(RequestOutcome::Passed),
        }
    } else {
        match end_within(session, SETTLE).await {
            Some(end) => (GONE, end.message, GONE_ADVICE),
            None => return Ok(RequestOutcome::Passed),
        }
    };
    Err(Broken {
        breach: Breach {
            expected: "a server that goes on".into(),
            found: found.into(),
        },
        full: with_stderr(format!("{found}: {why}"), session),
        before: "it was answered as it should be; ",
        advice: advice.to_owned(),
        is_end: true,
    })
}

/// What must come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contract {
    /// A JSON-RPC error, or a result with `isError`.
    Rejection,
    /// Anything at all.
    Return,
}

/// What came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// A result: it was accepted.
    Accepted,
    /// A JSON-RPC error, or a result with `isError`.
    Rejected,
    /// An HTTP status that is no success, without a JSON-RPC error.
    Refused,
    /// Something that is no message of the protocol, though perhaps the answer to the request.
    Malformed { is_answer: bool },
    /// Nothing in time.
    Hung,
    /// The end of the server, or of the connection.
    Died,
    /// Nothing that says anything: the call was ended by ourselves.
    Unclear,
}

impl Answer {
    /// What came back, and what was said with it.
    fn of(outcome: &Result<Reply, CallError>) -> (Self, String) {
        let error = match outcome {
            Ok(reply) => {
                let said = shorten(reply.result(), ANSWER_CHARACTERS_MAX);
                return (Self::Accepted, said);
            }
            Err(error) => error,
        };
        let answer = match error.category() {
            ErrorCategory::ServerError | ErrorCategory::ProtocolError
                if error.error.is_none()
                    && matches!(
                        error.failure.detail,
                        Detail::Status(_) | Detail::SessionExpired
                    ) =>
            {
                Self::Refused
            }
            ErrorCategory::ToolError
            | ErrorCategory::ServerError
            | ErrorCategory::ProtocolError => Self::Rejected,
            ErrorCategory::Timeout | ErrorCategory::Hang | ErrorCategory::Deadlock => Self::Hung,
            ErrorCategory::Crash | ErrorCategory::Disconnected => Self::Died,
            ErrorCategory::Malformed => Self::Malformed {
                is_answer: error.reply.is_some(),
            },
            ErrorCategory::Cancelled => Self::Unclear,
        };
        (answer, shorten(&error.to_string(), ANSWER_CHARACTERS_MAX))
    }

    /// What came back, without a word of what the server said.
    const fn in_short(self) -> &'static str {
        match self {
            Self::Accepted => "the tool accepted it",
            Self::Rejected => "it was rejected",
            Self::Refused => "it was refused without a JSON-RPC error",
            Self::Malformed { .. } => "the answer is malformed",
            Self::Hung => "the call hung",
            Self::Died => GONE,
            Self::Unclear => "the call was ended",
        }
    }

    fn keeps(self, contract: Contract) -> bool {
        match self {
            Self::Rejected | Self::Unclear => true,
            Self::Accepted | Self::Refused | Self::Malformed { is_answer: true } => {
                contract == Contract::Return
            }
            Self::Malformed { is_answer: false } | Self::Hung | Self::Died => false,
        }
    }
}

fn unanswered(timeout: Duration) -> CallError {
    let waited = describe_duration(timeout);
    let message = format!("no answer within {waited}");
    CallError::unsent(Failure::new(ErrorCategory::Timeout, message))
}

/// What happened, and the last that the server said of it.
fn with_stderr(breach: String, session: &Session) -> String {
    let stderr = session.stderr_tail();
    let tail = stderr.trim_end();
    if tail.is_empty() {
        return breach;
    }
    let skipped = tail.chars().count().saturating_sub(STDERR_CHARACTERS_MAX);
    let mark = if skipped > 0 { "…" } else { "" };
    let end: String = tail.chars().skip(skipped).collect();
    format!("{breach}; its stderr ends with: {mark}{end}")
}
