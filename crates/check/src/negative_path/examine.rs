//! Making the bad requests, one after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcprove_client::session::{CallError, Session};
use mcprove_client::transport::Failure;
use mcprove_settings::text::shorten;
use mcprove_trace::{BoxFuture, ErrorCategory};

use super::judgement::Answer;
use super::report::{Breach, NegativePathReport, ProbeReport, Verdict};
use super::{BadRequest, Entry, Probe, Subject};
use crate::pulse::{FIRST_TIMEOUT, Pulse, end_within};

/// How much of what was sent is told.
const SENT_CHARACTERS_MAX: usize = 200;
/// How much of what the server wrote to stderr is told.
const STDERR_CHARACTERS_MAX: usize = 500;
/// How much longer than one request a call of several may take.
const GRACE: Duration = Duration::from_secs(1);
/// How long the end of a connection is waited for after an answer, where `ping` says nothing.
const SETTLE: Duration = Duration::from_millis(200);

const GOES_ON: &str = "a server that goes on";
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
    let pulse = sessions.pulse();
    let mut probes = Vec::with_capacity(examination.probes.len());
    let mut is_first = true;
    for &probe in examination.probes {
        let began = Instant::now();
        let asked = match probe.request(examination.subject) {
            Err(reason) => Verdict::Skipped(reason).into(),
            Ok(request) => {
                let session = if std::mem::take(&mut is_first) {
                    first_session(sessions, &pulse, examination.timeout).await
                } else {
                    sessions.session().await
                };
                match session {
                    Err(reason) => Verdict::Undone(reason).into(),
                    Ok(session) => {
                        let timeout = examination.timeout;
                        let asked = ask(&session, probe, &request, timeout, &pulse).await;
                        if asked.is_end {
                            sessions.replace();
                        }
                        asked
                    }
                }
            }
        };
        probes.push(ProbeReport {
            probe,
            verdict: asked.verdict,
            breach: asked.breach,
            unquoted: asked.unquoted,
            duration: began.elapsed(),
        });
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

/// What came of a bad request.
struct Asked {
    verdict: Verdict,
    /// What was expected, and what came of it, in short.
    breach: Option<Breach>,
    /// What a failed verdict says, without what the server said.
    unquoted: Option<String>,
    /// Whether the session came to its end over it.
    is_end: bool,
}

impl From<Verdict> for Asked {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            breach: None,
            unquoted: None,
            is_end: false,
        }
    }
}

/// Makes one bad request.
async fn ask(
    session: &Session,
    probe: Probe,
    request: &BadRequest,
    timeout: Duration,
    pulse: &Pulse,
) -> Asked {
    let call = session.call_tool_within(&request.tool, &request.arguments, timeout);
    // A call may take several requests, of which each has the deadline to itself.
    let outcome = match tokio::time::timeout(timeout.saturating_add(GRACE), call).await {
        Ok(outcome) => outcome,
        Err(_) => Err(unanswered(timeout)),
    };
    let answer = Answer::of(&outcome);
    if let Answer::Unclear(reason) = &answer {
        return Verdict::Skipped(reason.clone()).into();
    }
    let Some(breach) = answer.breach(probe.entry().demands) else {
        return outlived(session, probe, request, timeout, pulse).await;
    };
    let is_end = answer.is_end() || session.closed().is_some();
    let breach = if is_end {
        with_stderr(breach, session)
    } else {
        breach
    };
    let Entry {
        contract, advice, ..
    } = probe.entry();
    let end = |breach: &str| {
        describe(
            probe,
            request,
            &format!("expected {contract}, but {breach}. To fix it, {advice}"),
        )
    };
    Asked {
        verdict: Verdict::Failed(end(&breach)),
        breach: Some(Breach {
            expected: contract,
            found: answer.in_short(),
        }),
        unquoted: Some(end(answer.in_short())),
        is_end,
    }
}

/// Whether the server is still there after an answer that is as it should be.
async fn outlived(
    session: &Session,
    probe: Probe,
    request: &BadRequest,
    timeout: Duration,
    pulse: &Pulse,
) -> Asked {
    let (found, why, advice) = if pulse.is_answered() == Some(true) {
        let waited = mcprove_settings::quantity::describe_duration(timeout);
        let alive = session.check_alive(timeout).await;
        match alive.err().map(|error| Answer::of(&Err(error))) {
            Some(Answer::Hung(_)) => (
                "the server then stopped answering",
                format!("`ping`, which it answered before, had no answer within {waited}"),
                STOPPED_ADVICE,
            ),
            Some(Answer::Died(why)) => (GONE, why, GONE_ADVICE),
            _ => return Verdict::Passed.into(),
        }
    } else {
        match end_within(session, SETTLE).await {
            Some(end) => (GONE, end.message, GONE_ADVICE),
            None => return Verdict::Passed.into(),
        }
    };
    let full = with_stderr(format!("{found}: {why}"), session);
    let end = |end: &str| {
        let end =
            format!("it was answered as it should be; expected {GOES_ON}, but {end}. {advice}");
        describe(probe, request, &end)
    };
    Asked {
        verdict: Verdict::Failed(end(&full)),
        breach: Some(Breach {
            expected: GOES_ON,
            found,
        }),
        unquoted: Some(end(found)),
        is_end: true,
    }
}

fn unanswered(timeout: Duration) -> CallError {
    let waited = mcprove_settings::quantity::describe_duration(timeout);
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

/// The probe, its fault, what was sent, what came back, what to do.
fn describe(probe: Probe, request: &BadRequest, end: &str) -> String {
    let entry = probe.entry();
    format!(
        "{} ({}, arXiv:{}): sent {}: {}; {end}",
        entry.name,
        entry.taxonomy,
        entry.paper,
        request.what,
        shorten(&request.arguments.to_string(), SENT_CHARACTERS_MAX),
    )
}
