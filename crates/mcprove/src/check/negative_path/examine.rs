//! Making the bad requests, one after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::judgement::Answer;
use super::report::{NegativePathReport, ProbeReport, Verdict};
use super::{BadRequest, Probe, Subject};
use crate::session::{CallError, Session};
use crate::text::shorten;
use crate::transport::{BoxFuture, Failure};
use mcprove_score::trace::ErrorCategory;

/// How much of what was sent is told.
const SENT_CHARACTERS_MAX: usize = 200;
/// How much of what the server wrote to stderr is told.
const STDERR_CHARACTERS_MAX: usize = 500;
/// How much longer than one request a call of several may take.
const GRACE: Duration = Duration::from_secs(1);

/// Where sessions for probes come from.
pub trait Sessions: Send {
    /// The session, or another one once it was replaced. Why there is none is told in a sentence.
    fn session(&mut self) -> BoxFuture<'_, Result<Arc<Session>, String>>;

    /// The session hung or died: the next probe needs another.
    fn replace(&mut self);
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

/// Makes the bad requests, each with a session that works.
pub async fn examine(
    examination: &Examination<'_>,
    sessions: &mut dyn Sessions,
) -> NegativePathReport {
    let mut probes = Vec::with_capacity(examination.probes.len());
    for &probe in examination.probes {
        let began = Instant::now();
        let asked = match probe.request(examination.subject) {
            Err(reason) => Verdict::Skipped(reason.to_string()).into(),
            Ok(request) => match sessions.session().await {
                Err(reason) => Verdict::Undone(reason).into(),
                Ok(session) => {
                    let asked = ask(&session, probe, &request, examination.timeout).await;
                    if asked.is_end {
                        sessions.replace();
                    }
                    asked
                }
            },
        };
        probes.push(ProbeReport {
            probe,
            verdict: asked.verdict,
            unquoted: asked.unquoted,
            duration: began.elapsed(),
        });
    }
    NegativePathReport { probes }
}

/// What came of a bad request.
struct Asked {
    verdict: Verdict,
    /// What a failed verdict says, without what the server said.
    unquoted: Option<String>,
    /// Whether the session came to its end over it.
    is_end: bool,
}

impl From<Verdict> for Asked {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            unquoted: None,
            is_end: false,
        }
    }
}

/// Makes one bad request.
async fn ask(session: &Session, probe: Probe, request: &BadRequest, timeout: Duration) -> Asked {
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
    let breach = answer.breach(probe.entry().demands);
    if answer.is_end() || breach.is_some() {
        let is_end = answer.is_end() || session.closed().is_some();
        let Some(breach) = breach else {
            return Asked {
                is_end,
                ..Verdict::Passed.into()
            };
        };
        let breach = if is_end {
            with_stderr(breach, session)
        } else {
            breach
        };
        return Asked {
            verdict: Verdict::Failed(describe(probe, request, &breach)),
            unquoted: Some(describe(probe, request, answer.in_short())),
            is_end,
        };
    }
    // A server may answer, and then be gone.
    match Answer::of(&session.check_alive(timeout).await) {
        after @ (Answer::Hung(_) | Answer::Died(_)) => {
            let in_short = format!("it was answered, and then {}", after.in_short());
            let after = after.breach(probe.entry().demands).unwrap_or_default();
            let breach = with_stderr(format!("it was answered, and then {after}"), session);
            Asked {
                verdict: Verdict::Failed(describe(probe, request, &breach)),
                unquoted: Some(describe(probe, request, &in_short)),
                is_end: true,
            }
        }
        _ => Verdict::Passed.into(),
    }
}

fn unanswered(timeout: Duration) -> CallError {
    let waited = crate::quantity::describe_duration(timeout);
    let message = format!("no answer within {waited}");
    CallError::unsent(Failure::new(ErrorCategory::Timeout, message))
}

/// What happened, and the last that the server said of it.
fn with_stderr(breach: String, session: &Session) -> String {
    let tail = session.stderr_tail();
    let tail = tail.trim_end();
    if tail.is_empty() {
        return breach;
    }
    let skipped = tail.chars().count().saturating_sub(STDERR_CHARACTERS_MAX);
    let mark = if skipped > 0 { "…" } else { "" };
    let end: String = tail.chars().skip(skipped).collect();
    format!("{breach}; its stderr ends with: {mark}{end}")
}

/// The probe, its fault, what was sent, what came back, what to do.
fn describe(probe: Probe, request: &BadRequest, breach: &str) -> String {
    let entry = probe.entry();
    format!(
        "{} ({}, arXiv:{}): sent {}: {}; expected {}, but {breach}. To mend it, {}",
        entry.name,
        entry.taxonomy,
        entry.paper,
        request.what,
        sent(&request.arguments),
        entry.contract,
        entry.advice,
    )
}

/// The arguments in short, whatever their size.
fn sent(arguments: &Value) -> String {
    shorten(&arguments.to_string(), SENT_CHARACTERS_MAX)
}
