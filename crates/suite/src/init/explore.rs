//! What a server's tools do when they are called: twice with good arguments, once with each bad request.

use std::collections::HashSet;
use std::sync::Arc;

use mcprove_arguments as arguments;
use mcprove_check::health::{ProbeError, Progress};
use mcprove_check::negative_path::{Examination, Probe, Sessions, Subject, Verdict, examine};
use mcprove_check::pulse::{AfterAnswer, Pulse};
use mcprove_check::tool_result::Fault;
use mcprove_client::server::Server;
use mcprove_client::session::{CallError, Session, SessionOptions};
use mcprove_client::transport::Detail;
use mcprove_score::gate::{Expectation, Matcher, judge};
use mcprove_trace::protocol::{Era, METHOD_NOT_FOUND, Tool, is_content_kind};
use mcprove_trace::stream::EventStream;
use mcprove_trace::{BoxFuture, ErrorCategory};
use serde_json::{Value, json};

use super::DraftOptions;

/// How many tools may hang before no more are called.
const HUNG_MAX: usize = 5;
/// How many bytes of JSON an output schema may have to be written into a suite.
const SCHEMA_BYTES_MAX: usize = 4096;
/// How many tools a suite is made for: it must not become too large to be read.
pub(super) const TOOLS_MAX: usize = 2000;
/// How often each call is made: what holds once may not hold again.
const CALLS: usize = 2;

/// What is known of a server and its tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Explored {
    /// The name that the server gives itself.
    pub server: String,
    /// Its tools, each once.
    pub tools: Vec<ExploredTool>,
    /// How many more it lists, that were not looked at.
    pub left_out: usize,
    /// Whether it does not answer `ping`.
    pub is_ping_unanswered: bool,
}

/// What is known of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExploredTool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Arguments that it accepts.
    pub arguments: Value,
    /// Why it is not to be called.
    pub skip: Option<String>,
    /// Whether that is because it may do harm.
    pub is_left_alone: bool,
    /// What was seen to hold, or must hold where it was not called: targets, and matchers as they are written.
    pub expectations: Vec<(String, Value)>,
    /// The bad requests that it rejected, or those that apply to it where none was made.
    pub checks: Vec<Probe>,
    /// Why no bad request can be made of it.
    pub unchecked: Option<String>,
    /// The bad requests that it did not reject.
    pub findings: Vec<Finding>,
}

/// A bad request that a tool did not reject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The tool.
    pub tool: String,
    /// The bad request.
    pub probe: Probe,
    /// What happened.
    pub message: String,
}

/// Connects, lists, calls.
pub(super) async fn explore(
    server: &Server,
    options: &DraftOptions,
    on_progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Explored, ProbeError> {
    let mut connection = Connection::open(server, &options.session).await?;
    let tools = connection.tools().await?;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut seen = HashSet::new();
    let mut explored = Vec::new();
    let mut hung = 0;
    for (done, tool) in tools.iter().enumerate() {
        on_progress(Progress {
            tool: &tool.name,
            done,
            total: tools.len(),
        });
        if explored.len() < TOOLS_MAX && seen.insert(tool.name.as_str()) {
            let mut visit = Visit {
                options,
                connection: &mut connection,
                names: &names,
                hung: &mut hung,
            };
            explored.push(visit.explore(tool).await);
        }
    }
    let server = connection.name.clone();
    let is_ping_unanswered = connection.pulse.is_answered() == Some(false);
    connection.close().await;
    Ok(Explored {
        server,
        left_out: tools.len().saturating_sub(explored.len()),
        tools: explored,
        is_ping_unanswered,
    })
}

/// A visit to one tool.
struct Visit<'a, 's> {
    options: &'a DraftOptions,
    connection: &'a mut Connection<'s>,
    names: &'a [&'a str],
    hung: &'a mut usize,
}

impl Visit<'_, '_> {
    async fn explore(&mut self, tool: &Tool) -> ExploredTool {
        let mut explored = self.look_at(tool).await;
        if explored.skip.is_some() {
            self.prepare(tool, &mut explored);
        }
        explored
    }

    /// What a test of a tool needs that was not called: it is there for whoever takes `skip:` away.
    fn prepare(&self, tool: &Tool, explored: &mut ExploredTool) {
        explored.expectations = vec![succeeds()];
        let names = self.names.iter().copied();
        let schema = &tool.input_schema;
        match Subject::new(&tool.name, names, schema, &explored.arguments) {
            Ok(subject) => {
                let probes = Probe::ALL.into_iter();
                explored.checks = probes
                    .filter(|probe| probe.request(&subject).is_ok())
                    .collect();
            }
            Err(error) => explored.unchecked = Some(error.to_string()),
        }
    }

    async fn look_at(&mut self, tool: &Tool) -> ExploredTool {
        let mut explored = ExploredTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            arguments: json!({}),
            ..ExploredTool::default()
        };
        match arguments::minimal(&tool.input_schema) {
            Ok(arguments) => explored.arguments = arguments,
            Err(error) => {
                explored.skip = Some(format!("no arguments fit its schema: {error}"));
                return explored;
            }
        }
        if let Some(reason) = self.options.allowance.refusal(tool) {
            explored.skip = Some(format!("not called: {reason}"));
            explored.is_left_alone = true;
            return explored;
        }
        if *self.hung >= HUNG_MAX {
            explored.skip = Some(format!("not called: {HUNG_MAX} tools before it hung"));
            return explored;
        }
        match self.call(tool, &explored.arguments).await {
            Ok(expectations) => explored.expectations = expectations,
            Err(reason) => {
                explored.skip = Some(reason);
                return explored;
            }
        }
        self.ask_badly(tool, &mut explored).await;
        explored
    }

    /// Calls the tool a few times: what held each time, or why it cannot be tested.
    async fn call(&mut self, tool: &Tool, args: &Value) -> Result<Vec<(String, Value)>, String> {
        let mut documents = Vec::new();
        for _ in 0..CALLS {
            let session = self.connection.session().await?;
            let cannot_run = session.era() == Era::Handshake && !session.supports_task_calls();
            if tool.requires_task() && cannot_run {
                return Err("runs only as a task, which this session does not have".to_owned());
            }
            let timeout = self.options.session.call_timeout;
            let outcome = session.call_tool_within(&tool.name, args, timeout).await;
            let result = outcome
                .and_then(|reply| reply.parse::<Value>())
                .map_err(|error| {
                    if is_end(error.category()) {
                        *self.hung += 1;
                        self.connection.replace();
                    }
                    how_it_failed(&error)
                })?;
            // The same that a run holds against it.
            if let Some(fault) = Fault::of(&result, tool.output_schema.as_ref()) {
                let why = fault.unquoted;
                return Err(format!("its result breaks the protocol: {why}"));
            }
            let pulse = Arc::clone(&self.connection.pulse);
            if let AfterAnswer::Ended(_) = pulse.after_answer(&session, true).await {
                self.connection.replace();
                return Err(
                    "failed when this file was made: the server was gone after its answer"
                        .to_owned(),
                );
            }
            documents.push(json!({ "is_error": false, "result": result }));
        }
        let candidates = candidates(tool, documents.first());
        let held = candidates.into_iter().filter(|(target, matcher)| {
            let Ok(matcher) = Matcher::from_value(matcher) else {
                return false;
            };
            let expectation = Expectation {
                target: target.clone(),
                matcher,
            };
            let holds = |document: &Value| judge(&expectation, document, &[]) == Ok(None);
            documents.iter().all(holds)
        });
        Ok(held.collect())
    }

    async fn ask_badly(&mut self, tool: &Tool, explored: &mut ExploredTool) {
        let names = self.names.iter().copied();
        // Without a subject nothing bad can be made, and nothing is lost.
        let Ok(subject) = Subject::new(&tool.name, names, &tool.input_schema, &explored.arguments)
        else {
            return;
        };
        let examination = Examination {
            subject: &subject,
            probes: &Probe::ALL,
            timeout: self.options.probe_timeout,
        };
        let report = examine(&examination, self.connection).await;
        for report in report.probes {
            match report.verdict {
                Verdict::Passed => explored.checks.push(report.probe),
                Verdict::Failed(_) => explored.findings.push(Finding {
                    tool: tool.name.clone(),
                    probe: report.probe,
                    message: report.unquoted.unwrap_or_default(),
                }),
                Verdict::Skipped(_) | Verdict::Undone(_) => {}
            }
        }
    }
}

/// That the call succeeds.
fn succeeds() -> (String, Value) {
    ("is_error".to_owned(), json!({ "exact": false }))
}

/// What a test could expect, by the first result.
fn candidates(tool: &Tool, document: Option<&Value>) -> Vec<(String, Value)> {
    let mut candidates = vec![succeeds()];
    let kind = document.and_then(|document| document.pointer("/result/content/0/type")?.as_str());
    // Any other is a text of the server's own.
    if let Some(kind) = kind.filter(|kind| is_content_kind(kind)) {
        let target = "result.content[0].type".to_owned();
        candidates.push((target, json!({ "exact": kind })));
    }
    let schema = tool
        .output_schema
        .as_ref()
        .filter(|schema| schema.to_string().len() <= SCHEMA_BYTES_MAX);
    if let Some(schema) = schema {
        let target = "result.structuredContent".to_owned();
        candidates.push((target, json!({ "schema": schema })));
    }
    candidates
}

/// Why a call failed, without a word of what the server said: that may be private.
fn how_it_failed(error: &CallError) -> String {
    let category = error.category();
    let how = match (category, error.code(), &error.failure.detail) {
        (ErrorCategory::ToolError, ..) => ": it answered with isError".to_owned(),
        (_, Some(code), _) => format!(": JSON-RPC error {code}"),
        (.., Detail::Status(status)) => format!(": HTTP status {status}"),
        (.., Detail::Exit(Some(status))) => format!(": its process ended with status {status}"),
        _ => String::new(),
    };
    format!("failed when this file was made: {category}{how}")
}

const fn is_end(category: ErrorCategory) -> bool {
    matches!(
        category,
        ErrorCategory::Timeout
            | ErrorCategory::Hang
            | ErrorCategory::Deadlock
            | ErrorCategory::Crash
            | ErrorCategory::Disconnected
    )
}

/// A session that is replaced when it hangs or dies.
struct Connection<'s> {
    server: &'s Server,
    options: SessionOptions,
    session: Option<Arc<Session>>,
    name: String,
    pulse: Arc<Pulse>,
}

impl<'s> Connection<'s> {
    async fn open(server: &'s Server, options: &SessionOptions) -> Result<Self, ProbeError> {
        let recorder = EventStream::unobserved().recorder();
        let session = Session::connect_recorded(server, options.clone(), recorder).await?;
        Ok(Self {
            server,
            options: options.clone(),
            name: session.facts().implementation.name.clone(),
            session: Some(Arc::new(session)),
            pulse: Arc::default(),
        })
    }

    async fn tools(&self) -> Result<Vec<Tool>, ProbeError> {
        let Some(session) = &self.session else {
            return Ok(Vec::new());
        };
        match session.list_tools().await {
            Ok(tools) => Ok(tools),
            // A server need not have tools.
            Err(error) if error.code() == Some(METHOD_NOT_FOUND) => Ok(Vec::new()),
            Err(error) => Err(ProbeError::List {
                error,
                stderr: session.stderr_tail(),
            }),
        }
    }

    async fn close(self) {
        if let Some(session) = self.session {
            session.end().await;
        }
    }
}

impl Sessions for Connection<'_> {
    fn session(&mut self) -> BoxFuture<'_, Result<Arc<Session>, String>> {
        Box::pin(async {
            if let Some(session) = &self.session
                && session.closed().is_none()
            {
                return Ok(Arc::clone(session));
            }
            self.session = None;
            let recorder = EventStream::unobserved().recorder();
            let session =
                Session::connect_recorded(self.server, self.options.clone(), recorder).await;
            let session = session.map_err(|_| "the server could not be reached again")?;
            // The list says how the tools want to be called.
            let _ = session.list_tools().await;
            let session = Arc::new(session);
            self.session = Some(Arc::clone(&session));
            Ok(session)
        })
    }

    fn replace(&mut self) {
        self.session = None;
    }

    fn pulse(&self) -> Arc<Pulse> {
        Arc::clone(&self.pulse)
    }
}
