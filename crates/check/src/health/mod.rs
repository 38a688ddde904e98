//! `mcprove probe`: connect, list the tools, call once each that may be called, with arguments made from its
//! schema. A server without tools is asked for its prompts and resources.

use std::collections::HashSet;
use std::pin::pin;

use mcprove_arguments::{Choice, Folder};
use mcprove_client::permission::Allowance;
use mcprove_trace::stream::Recorder;

use crate::prelude::*;

mod others;
mod report;

pub use report::{
    Coverage, HealthOutcome, ProbeFinding, ProbeReport, ServerName, ToolHealth, ToolOutcome,
};

/// How long a server that left a call unanswered may take to show that it lives.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(2);

/// Names the folder of generated paths: a probe has no choice to make by a seed.
const FOLDER_SEED: u64 = 0;

/// How many violations are reported, over all sessions that a probe takes.
const VIOLATIONS_MAX: usize = 100;
/// How much of a tool's name is shown within a message.
const NAME_SHOWN_MAX: usize = 60;

const UNREACHED: &str = "the server could not be reached again";

/// What to call and how long to wait.
#[derive(Debug, Clone, Default)]
pub struct ProbeOptions {
    /// How the session behaves; its call timeout holds for every tool.
    pub session: SessionOptions,
    /// What is called beside the tools that only read or compute.
    pub allowance: Allowance,
    /// Whether warnings make it fail, too.
    pub fail_on: FailOn,
}

/// Why a probe could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// No session came about.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The server did not list its tools.
    #[error("tools/list failed: {error}")]
    List {
        /// Why.
        error: CallError,
        /// The last of what the server wrote to stderr.
        stderr: String,
    },
    /// This process ran out of something, such as file descriptors. The server has no part in it.
    #[error(transparent)]
    OwnLimit(OwnLimit),
    /// There is no folder for the paths of generated arguments.
    #[error("no temporary folder can be made: {0}")]
    Folder(io::Error),
    /// The server does not have the tool that was named.
    #[error("{0}")]
    Tool(Diagnostic),
    /// The probe was interrupted before the server had answered.
    #[error("interrupted")]
    Interrupted,
}

impl UserError for ProbeError {
    fn inner(&self) -> Option<&dyn UserError> {
        match self {
            Self::Connect(error) => Some(error),
            Self::OwnLimit(limit) => Some(limit),
            Self::Tool(problem) => Some(problem),
            _ => None,
        }
    }

    fn hint(&self) -> Message {
        match self {
            Self::List { error, .. } => match error.category() {
                ErrorCategory::Malformed if !error.is_oversized() => {
                    "each tool needs a name, and each page another cursor, until one has none"
                        .into()
                }
                category => category.hint(),
            },
            Self::Folder(_) => {
                "check the permissions of the temporary folder, or set TMPDIR".into()
            }
            _ => self.inner().map(UserError::hint).unwrap_or_default(),
        }
    }

    fn exit_code(&self) -> u8 {
        match self {
            // The server was reached: that it does not list its tools is a finding.
            Self::List { .. } => 1,
            Self::Interrupted => 130,
            _ => self.inner().map_or(2, UserError::exit_code),
        }
    }

    fn stderr(&self) -> &str {
        match self {
            Self::List { stderr, .. } => stderr,
            _ => self.inner().map_or("", UserError::stderr),
        }
    }
}

/// How far a probe has come.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The tool that is about to be called.
    pub tool: &'a str,
    /// How many tools are done.
    pub done: usize,
    /// How many there are.
    pub total: usize,
}

/// Probes a server. `on_progress` is told before each tool; when `stop` resolves, the probe ends
/// with what it has.
pub async fn probe(
    server: &Server,
    options: &ProbeOptions,
    recorder: Arc<Recorder>,
    on_progress: &mut dyn FnMut(Progress<'_>),
    stop: impl Future<Output = ()>,
) -> Result<ProbeReport, ProbeError> {
    let limits = recorder.limits().clone();
    let ran_out = || limits.met().map(ProbeError::OwnLimit);
    let mut stop = pin!(stop);
    let mut prober = tokio::select! {
        prober = Prober::connect(server, options, recorder) => prober?,
        () = &mut stop => return Err(ProbeError::Interrupted),
    };
    let tools = tokio::select! {
        tools = prober.list_tools() => tools.map_err(|error| ran_out().unwrap_or(error))?,
        () = &mut stop => {
            prober.finish(true).await;
            return Err(ProbeError::Interrupted);
        }
    };
    let mut partial = false;
    for (done, tool) in tools.iter().enumerate() {
        on_progress(Progress {
            tool: &tool.name,
            done,
            total: tools.len(),
        });
        let health = tokio::select! {
            health = prober.examine(tool) => health,
            () = &mut stop => {
                partial = true;
                ToolHealth::skipped(&tool.name, "interrupted during the call")
            }
        };
        prober.first.tools.push(health);
        if partial {
            break;
        }
    }
    if tools.is_empty() {
        tokio::select! {
            (prompts, resources) = prober.examine_others() => {
                prober.first.prompts = prompts;
                prober.first.resources = resources;
            }
            () = &mut stop => partial = true,
        }
    }
    let report = prober.finish(partial).await;
    ran_out().map_or(Ok(report), Err)
}

/// How a tool fared that answered with a result.
fn judge(tool: &Tool, result: &Value, elapsed: Duration) -> ToolHealth {
    let health = |outcome| ToolHealth::new(&tool.name, outcome, Some(elapsed));
    match find_fault(result, tool.output_schema.is_some()) {
        None => health(ToolOutcome::Ok),
        Some(fault) => ToolHealth {
            category: Some(ErrorCategory::Malformed),
            message: Some(sentence!("{}: {fault}", ErrorCategory::Malformed)),
            ..health(ToolOutcome::Error)
        },
    }
}

struct Prober<'a> {
    server: &'a Server,
    options: &'a ProbeOptions,
    recorder: Arc<Recorder>,
    /// None once the server is gone for good.
    session: Option<Session>,
    /// How many sessions there were before this one.
    reconnects: u32,
    first: ProbeReport,
    violations: Vec<Violation>,
    /// What else breaks the protocol.
    findings: Vec<ProbeFinding>,
    /// Where the paths of generated arguments lie.
    folder: Folder,
}

impl<'a> Prober<'a> {
    async fn connect(
        server: &'a Server,
        options: &'a ProbeOptions,
        recorder: Arc<Recorder>,
    ) -> Result<Self, ProbeError> {
        let session =
            Session::connect_recorded(server, options.session.clone(), Arc::clone(&recorder))
                .await?;
        let facts = session.facts();
        let first = ProbeReport {
            server: ServerName {
                name: facts.implementation.name.clone(),
                version: facts.implementation.version.clone(),
            },
            protocol: facts.revision.to_string(),
            era: session.era().name().to_owned(),
            transport: session.transport().to_owned(),
            startup_ms: (facts.startup.as_secs_f64() * 1e6).round() / 1e3,
            warnings: session.warnings().to_vec(),
            fail_on: options.fail_on,
            ..ProbeReport::default()
        };
        Ok(Self {
            server,
            options,
            recorder,
            session: Some(session),
            reconnects: 0,
            first,
            violations: Vec::new(),
            findings: Vec::new(),
            folder: Folder::create(FOLDER_SEED).map_err(|error| {
                OwnLimit::of(&error).map_or(ProbeError::Folder(error), ProbeError::OwnLimit)
            })?,
        })
    }

    async fn list_tools(&mut self) -> Result<Vec<Tool>, ProbeError> {
        let Some(session) = &self.session else {
            return Ok(Vec::new());
        };
        match session.list_tools().await {
            Ok(tools) => {
                self.first.warnings.extend(repeated_names(&tools));
                self.first.coverage.registered = tools.len();
                Ok(tools)
            }
            // A server need not have tools, but should not say that it has.
            Err(error) if error.code() == Some(METHOD_NOT_FOUND) => {
                if session.facts().capabilities.get("tools").is_some() {
                    let message = "declares tools, and does not know tools/list";
                    self.findings
                        .push(ProbeFinding::new("tools_not_listed", message));
                }
                Ok(Vec::new())
            }
            Err(error) => Err(ProbeError::List {
                error,
                stderr: session.stderr_tail(),
            }),
        }
    }

    async fn examine(&mut self, tool: &Tool) -> ToolHealth {
        if let Some(reason) = self.options.allowance.refusal(tool) {
            return ToolHealth {
                may_write: true,
                ..ToolHealth::skipped(&tool.name, reason.to_string())
            };
        }
        let skipped = |reason: String| ToolHealth::skipped(&tool.name, reason);
        let choice = Choice {
            folder: Some(self.folder.path().to_owned()),
            ..Choice::default()
        };
        let arguments = match arguments::from_schema(&tool.input_schema, &choice) {
            Ok(arguments) => arguments,
            Err(error) => {
                let why = error.in_one_line();
                return skipped(format!("no arguments fit its schema: {why}"));
            }
        };
        let Some(session) = &self.session else {
            return skipped(UNREACHED.to_owned());
        };
        // In the stateless era the server decides by itself what becomes a task.
        let cannot_run = session.era() == Era::Handshake && !session.supports_task_calls();
        if tool.requires_task() && cannot_run {
            return skipped("runs only as a task, which this session does not have".to_owned());
        }
        let timeout = self.options.session.call_timeout();
        let began = Instant::now();
        let outcome = session
            .call_tool_within(&tool.name, &arguments, timeout)
            .await;
        let elapsed = began.elapsed();
        match outcome.and_then(|reply| reply.parse::<Value>()) {
            Ok(result) => judge(tool, &result, elapsed),
            Err(error) => self.explain(&tool.name, &error, elapsed).await,
        }
    }

    async fn explain(&mut self, name: &str, error: &CallError, elapsed: Duration) -> ToolHealth {
        let category = error.category();
        let (outcome, message) = match category {
            ErrorCategory::Timeout => (ToolOutcome::Hang, self.explain_hang(error).await),
            ErrorCategory::ToolError => (ToolOutcome::ToolError, error.to_string()),
            // We ended the call ourselves: the tool cannot be judged by it.
            ErrorCategory::Cancelled => {
                let reason = sentence!("{error}; {} answers it", setting("accept_requests"));
                return ToolHealth::skipped(name, reason);
            }
            category => (ToolOutcome::Error, format!("{category}: {error}")),
        };
        if matches!(outcome, ToolOutcome::Hang | ToolOutcome::Error)
            && let Some(session) = &self.session
        {
            self.first.note_stderr(&session.stderr_tail());
        }
        self.reconnect_if_closed().await;
        ToolHealth {
            message: Some(message.into()),
            category: Some(category),
            ..ToolHealth::new(name, outcome, Some(elapsed))
        }
    }

    /// Tells a stuck tool from a dead server, and gives the next tool a server that answers.
    async fn explain_hang(&mut self, error: &CallError) -> String {
        let Some(session) = &self.session else {
            return error.to_string();
        };
        if session.check_alive(ALIVE_TIMEOUT).await.is_ok() {
            return format!("{error}; the server still answers other requests");
        }
        let waited = describe_duration(ALIVE_TIMEOUT);
        self.reconnect().await;
        format!("{error}, and then nothing else answered either (waited {waited})")
    }

    async fn reconnect_if_closed(&mut self) {
        if let Some(session) = &self.session
            && session.closed().is_some()
        {
            self.reconnect().await;
        }
    }

    async fn reconnect(&mut self) {
        if let Some(session) = self.session.take() {
            self.note_violations(&session);
            // A server that hangs is not waited for.
            drop(session);
        }
        self.reconnects += 1;
        let mut options = self.options.session.clone();
        options.session_number += self.reconnects;
        self.session = Session::connect_recorded(self.server, options, Arc::clone(&self.recorder))
            .await
            .ok();
        if let Some(session) = &self.session {
            // The list says how tools want to be called.
            let _ = session.list_tools().await;
        }
    }

    fn note_violations(&mut self, session: &Session) {
        let room = VIOLATIONS_MAX.saturating_sub(self.violations.len());
        let more = session.violations().first.into_iter().take(room);
        self.violations.extend(more);
        let stray = session.stray_cancels().describe();
        self.first.warnings.extend(stray);
    }

    async fn finish(mut self, partial: bool) -> ProbeReport {
        if let Some(session) = self.session.take() {
            let was_called = self.first.called().next().is_some();
            let has_failed = self.first.called().any(ToolHealth::is_failure);
            if !partial && was_called && session.closed().is_none() {
                // What the server sent after its last answer, such as that answer once more,
                // arrives before the answer to this.
                let timeout = self.options.session.call_timeout();
                // A server that failed before has its finding already.
                if let Err(error) = session.check_alive(timeout).await
                    && !has_failed
                {
                    let list = Request::new("tools/list").timeout(timeout);
                    let listed = session.request(&list).await;
                    let is_alive = listed.map_or_else(|error| error.is_answer(), |_| true);
                    self.findings.push(unanswered(&error, is_alive));
                    self.first.note_stderr(&session.stderr_tail());
                }
            }
            let closing = session.end().await;
            self.note_violations(&session);
            if closing.forced {
                self.first.warnings.push(format!(
                    "the process was still running {} after its input closed, and was terminated",
                    describe_duration(self.server.shutdown_timeout)
                ));
            } else {
                self.first.warnings.extend(closing.bad_end());
            }
        }
        let mut report = self.first;
        let has_failed = report.called().any(ToolHealth::is_failure);
        let violations = self.violations.iter();
        report.violations = violations
            .map(|violation| ProbeFinding {
                is_warning: violation.kind.is_harmless() && !has_failed,
                ..finding(violation)
            })
            .collect();
        report.violations.append(&mut self.findings);
        let exercised = report
            .tools
            .iter()
            .filter(|tool| tool.outcome != ToolOutcome::Skipped);
        report.coverage.exercised = exercised.count();
        report.partial = partial;
        report.outcome = report.judge();
        report
    }
}

/// A warning where several tools have the same name: only one of them can be called.
fn repeated_names(tools: &[Tool]) -> Option<String> {
    let mut seen = HashSet::new();
    let repeated: Vec<&str> = tools
        .iter()
        .map(|tool| tool.name.as_str())
        .filter(|name| !seen.insert(*name))
        .collect();
    let first = repeated.first()?;
    Some(format!(
        "{} tools have a name that another has too, such as {:?}",
        repeated.len(),
        shorten(first, NAME_SHOWN_MAX)
    ))
}

/// What is found where the question whether a server lives got no answer after the last call: it may answer others.
fn unanswered(error: &CallError, answers_list: bool) -> ProbeFinding {
    if !answers_list {
        let message = format!("does not answer any more after the last call: {error}");
        return ProbeFinding::new("unresponsive", message);
    }
    ProbeFinding {
        is_warning: true,
        ..ProbeFinding::new(
            "ping_unanswered",
            sentence!("`ping` is not answered ({error}), though `tools/list` is"),
        )
    }
}

fn finding(violation: &Violation) -> ProbeFinding {
    let kind = json!(violation.kind);
    let message = sentence!("{}: {}", violation.kind.explanation(), violation.message);
    ProbeFinding::new(kind.as_str().unwrap_or_default(), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_answers_others_only_leaves_ping_unanswered() {
        let error = CallError::unsent(Failure::timeout("no answer within 1s"));
        let found = [false, true].map(|answers_list| unanswered(&error, answers_list));
        let found = found.map(|found| (found.kind, found.is_warning));
        let expected = [("unresponsive", false), ("ping_unanswered", true)];
        assert_eq!(
            found,
            expected.map(|(kind, warns)| (kind.to_owned(), warns))
        );
    }
}
