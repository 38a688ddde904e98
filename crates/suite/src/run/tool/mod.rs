//! A call of a tool, carried out and judged.
//!
//! `called` is the outcome of the call, `judged` holds that against the expectations, `negative` makes the
//! bad requests.

mod called;
mod judged;
mod negative;

#[cfg(test)]
mod tests;

use mcprove_client::permission::{Reason, judge};
use mcprove_trace::words::seems_to_write;

use self::called::Called;
use self::negative::OwnSessions;
use super::masking::masked;
use super::servers::{Lease, Turn};
use crate::prelude::*;

/// How often a session that had ended before the call was sent is replaced.
const UNSENT_MAX: u32 = 3;

/// Runs one test. Whatever goes wrong is in the report.
pub async fn run(test: &ToolTestPlan, context: Context<'_>) -> TestReport {
    let mut report = TestReport::new(TestKind::Tool, &test.head, context.plan);
    if let Some(reason) = &test.head.skip {
        return report.not_run(reason);
    }
    let end = tokio::select! {
        end = carry_out(test, context, &mut report) => end,
        () = context.options.stop.requested(StopLevel::Now) => {
            End::of("interrupted during the test", "run again to finish it")
        }
    };
    let report = match end {
        End::Judged => report.judged(),
        End::Skipped(reason) => report.not_run(reason),
        End::Error(error) => {
            report.errors.push(error);
            report.judged()
        }
    };
    masked(report, &context.options.environment.redactor())
}

/// How a test ended.
enum End {
    /// Its outcome is in the report.
    Judged,
    /// It cannot be run here, for this reason.
    Skipped(String),
    /// It could not be done.
    Error(ScoreError),
}

impl From<Diagnostic> for End {
    fn from(error: Diagnostic) -> Self {
        Self::Error(error.into())
    }
}

impl End {
    fn of(message: impl Into<Message>, hint: impl Into<Message>) -> Self {
        Diagnostic::new(message, hint).into()
    }
}

async fn carry_out(test: &ToolTestPlan, context: Context<'_>, report: &mut TestReport) -> End {
    let args = match context.options.environment.fill_value(&test.args) {
        Ok(args) => args,
        Err(error) => {
            return End::Error(ScoreError::new("args", error.to_string(), error.hint()));
        }
    };
    let Some(turn) = context.servers.turn(&test.server, test.timeout).await else {
        return End::Error(no_server(test, context));
    };
    let began = Instant::now();
    let stop = &context.options.stop;
    let end = match call(test, &args, &turn, stop, report).await {
        Ok((called, tool)) => {
            let probes = match &test.negative_path {
                Some(plan) if judged::may_be_asked_badly(test, &called, report) => {
                    let sessions = OwnSessions::new(&turn, stop);
                    negative::run(test, plan, &args, sessions, &tool, report).await
                }
                _ => None,
            };
            judged::judge(test, &called, &called.document(probes.as_ref()), report);
            End::Judged
        }
        Err(end) => end,
    };
    report.duration_ms = called::milliseconds(began.elapsed());
    match turn.pool.own_limit() {
        // What did not hold may be our own doing.
        Some(limit) if !report.failures.is_empty() => {
            report.failures.clear();
            End::of(limit.to_string(), limit.hint())
        }
        _ => end,
    }
}

/// What a server says of the tool of a test.
enum Listed {
    Tool(Tool),
    /// There is none of this name; one of these may have been meant.
    Missing(Option<String>),
    /// The server does not list its tools, for this reason.
    Unknown(String),
}

impl Listed {
    fn find(test: &ToolTestPlan, lease: &Lease<'_>) -> Self {
        match (lease.tool(&test.tool), &lease.connected.tools) {
            (Some(tool), _) => Self::Tool(tool.clone()),
            (None, Err(error)) => Self::Unknown(error.to_string()),
            (None, Ok(tools)) => {
                let names = tools.iter().map(|tool| tool.name.as_str());
                Self::Missing(nearest(names, &test.tool).map(str::to_owned))
            }
        }
    }

    /// That the tool is not there.
    fn remark(&self, test: &ToolTestPlan) -> Option<String> {
        match self {
            Self::Missing(near) => {
                let meant = near
                    .as_ref()
                    .map(|near| format!("; did you mean {near:?}?"));
                let (tool, meant) = (&test.tool, meant.unwrap_or_default());
                Some(format!("the server lists no tool {tool:?}{meant}"))
            }
            Self::Tool(_) | Self::Unknown(_) => None,
        }
    }
}

/// Makes the call. Where it ends badly while other tests used the same server, it may be their fault: it is
/// made once more, alone, if it may be made twice.
async fn call(
    test: &ToolTestPlan,
    args: &Value,
    turn: &Turn<'_>,
    stop: &Stop,
    report: &mut TestReport,
) -> Result<(Called, Listed), End> {
    let mut lease = turn.session().await?;
    let listed = Listed::find(test, &lease);
    if let Listed::Tool(tool) = &listed
        && is_task_only(tool, &lease)
    {
        let reason = "the tool runs only as a task, which this session does not have";
        return Err(End::Skipped(reason.to_owned()));
    }
    if let Some(message) = died_listing(&lease) {
        report.notes.extend(lease.remarks());
        report.fail("tools/list", Value::Null, Value::Null, message);
        lease.spoil();
        lease.done().await;
        return Err(End::Judged);
    }
    let mut called = Called::make(test, args, &lease).await;
    // Who finds a session that has ended already has nothing to do with its end.
    for _ in 0..UNSENT_MAX {
        if !called.is_unsent() || !stop.is_running() {
            break;
        }
        lease.spoil();
        lease.done().await;
        lease = turn.session().await?;
        called = Called::make(test, args, &lease).await;
    }
    if called.is_end() {
        lease.hurt();
    }
    let is_doubtful =
        called.may_be_anothers_fault(&lease) || (lease.declined().is_some() && lease.had_company());
    if is_doubtful && stop.is_running() && may_repeat(test, &listed) {
        report.notes.extend(lease.remarks());
        report.notes.push(sentence!(
            "the call was made twice: at first while other tests used the server, when it ended with {}; \
             then alone, and that decides",
            called.describe()
        ));
        lease.done().await;
        lease = turn.own_session().await?;
        called = Called::make(test, args, &lease).await;
        if called.is_end() {
            lease.hurt();
        }
    } else if is_doubtful
        && called.is_end()
        && called
            .failure
            .as_ref()
            .is_none_or(|it| it.hung_alone.is_none())
    {
        return Err(in_company(&called, stop));
    }
    for remark in lease.remarks() {
        if !report.notes.contains(&remark) {
            report.notes.push(remark);
        }
    }
    let mut declined = lease.declined();
    lease.done().await;
    let failure = called.failure.as_ref();
    if failure.is_some_and(|it| it.category == ErrorCategory::Cancelled) {
        // It was given up because the server asked for what it did not get.
        declined.get_or_insert("input".to_owned());
    }
    // Who writes down that requests are declined wants to see what comes of it.
    if turn.pool.plan.session.accept_requests.is_none()
        && let Some(method) = declined
    {
        return Err(declines(&method, &called));
    }
    if let Some(remark) = listed.remark(test) {
        // Whatever error is expected, it is not that of a tool that is not there.
        if called.failure.is_some() {
            let message = sentence!("{remark} (the call ended with {})", called.describe());
            let hint = sentence!(
                "to test that unknown tools are rejected, use `negative_path: {{ checks: [unknown_tool] }}` on a tool that exists"
            );
            let what = Diagnostic::new(message, hint);
            report.fail("tool", test.tool.as_str(), Value::Null, what);
            return Err(End::Judged);
        }
        report.notes.push(sentence!("{remark}, but it answers"));
    }
    Ok((called, listed))
}

/// That a server died before any call, when it was asked for its tools.
fn died_listing(lease: &Lease<'_>) -> Option<String> {
    let error = lease.connected.tools.as_ref().err()?;
    let end = lease.session().closed()?;
    is_gone(error.category()).then(|| {
        format!(
            "the server died while it listed its tools, before any call: {}{}; its stderr, or its own log, says why",
            end.message,
            called::stderr_end(&lease.session().stderr_tail())
        )
    })
}

/// In the stateless era the server decides by itself what becomes a task.
fn is_task_only(tool: &Tool, lease: &Lease<'_>) -> bool {
    let session = lease.session();
    let cannot_run = session.era() == Era::Handshake && !session.supports_task_calls();
    tool.requires_task() && cannot_run
}

/// Whether a call that may have been carried out can be made again without harm.
fn may_repeat(test: &ToolTestPlan, listed: &Listed) -> bool {
    let Listed::Tool(tool) = listed else {
        return !seems_to_write(&test.tool);
    };
    let hints = tool.annotations.as_ref();
    let is_idempotent = hints.is_some_and(|hints| hints.idempotent_hint == Some(true));
    // It was named, so that it may be called; once more where nothing says that it writes.
    let judged = judge(tool);
    let is_silent = matches!(judged, Err(Reason::NoVerb | Reason::NotEnglish));
    is_idempotent || judged.is_ok() || (is_silent && !seems_to_write(&test.tool))
}

fn in_company(called: &Called, stop: &Stop) -> End {
    let why = if stop.is_running() {
        "it seems to write"
    } else {
        "the run was interrupted"
    };
    let message = format!(
        "the call ended with {} while other tests used the same server, and {why}, so \
         that it was not made again",
        called.describe()
    );
    let hint =
        sentence!("give the server `parallel: 1`, or `fresh: true`, to see which one is at fault");
    End::Error(ScoreError::from(Diagnostic::new(message, hint)).inconclusive())
}

fn declines(method: &str, called: &Called) -> End {
    let message = format!(
        "the server asked its client for {method}, which mcprove declines, so the \
             result of the call ({}) says nothing about the tool",
        called.describe()
    );
    let hint = sentence!(
        "give the server `accept_requests: true` to answer what it asks for, or `accept_requests: false` \
                to judge what it does without"
    );
    End::Error(ScoreError::from(Diagnostic::new(message, hint)).inconclusive())
}

fn no_server(test: &ToolTestPlan, context: Context<'_>) -> ScoreError {
    let known = context.plan.servers.keys().map(String::as_str);
    let otherwise = sentence!("name one of those under `servers:`");
    let hint = meant(nearest(known, &test.server), otherwise);
    let message = format!("the suite has no server {:?}", test.server);
    ScoreError::new("server", message, hint)
}
