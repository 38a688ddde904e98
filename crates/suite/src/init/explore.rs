//! What a server's tools do when they are called: twice with good arguments, once with each bad request.

use mcprove_arguments as arguments;
use mcprove_check::health::{ProbeError, Progress};
use mcprove_check::negative_path::{
    Examination, OwnSessions, RequestOutcome, Sessions, Subject, examine,
};
use mcprove_check::pulse::AfterAnswer;
use mcprove_check::tool_result::Fault;
use mcprove_score::gate::{Matcher, judge};
use mcprove_trace::protocol::is_content_kind;

use super::DraftOptions;
use crate::prelude::*;

/// How many tools may hang before no more are called.
const HUNG_MAX: usize = 5;
/// How many bytes of JSON an output schema may have to be written into a suite.
const SCHEMA_BYTES_MAX: usize = 4096;
/// How many tools a suite is made for: it must not become too large to be read.
pub const TOOLS_MAX: usize = 2000;
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
    pub name: String,
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
    pub findings: Vec<UnrejectedRequest>,
}

/// A bad request that a tool did not reject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnrejectedRequest {
    pub tool: String,
    /// The bad request.
    pub probe: Probe,
    /// What happened.
    pub message: String,
}

/// Connects, lists, calls.
pub async fn explore(
    server: &Server,
    options: &DraftOptions,
    on_progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Explored, ProbeError> {
    let mut sessions = OwnSessions::new(server, options.session.clone());
    let session = Arc::clone(sessions.connect().await?);
    let name = session.facts().implementation.name.clone();
    let tools = match session.list_tools().await {
        Ok(tools) => tools,
        // A server need not have tools.
        Err(error) if error.code() == Some(METHOD_NOT_FOUND) => Vec::new(),
        Err(error) => {
            let stderr = session.stderr_tail();
            return Err(ProbeError::List { error, stderr });
        }
    };
    let mut visit = Visit {
        sessions,
        options,
        names: tools.iter().map(|tool| tool.name.as_str()).collect(),
        hung: 0,
    };
    drop(session);
    let mut seen = HashSet::new();
    let mut explored = Vec::new();
    for (done, tool) in tools.iter().enumerate() {
        on_progress(Progress {
            tool: &tool.name,
            done,
            total: tools.len(),
        });
        if explored.len() < TOOLS_MAX && seen.insert(tool.name.as_str()) {
            explored.push(visit.explore(tool).await);
        }
    }
    let is_ping_unanswered = visit.sessions.pulse().is_answered() == Some(false);
    visit.sessions.end().await;
    Ok(Explored {
        server: name,
        left_out: tools.len().saturating_sub(explored.len()),
        tools: explored,
        is_ping_unanswered,
    })
}

/// A visit to a server.
struct Visit<'a> {
    sessions: OwnSessions<'a>,
    options: &'a DraftOptions,
    /// The names of all its tools.
    names: Vec<&'a str>,
    /// How many tools hung.
    hung: usize,
}

impl Visit<'_> {
    async fn explore(&mut self, tool: &Tool) -> ExploredTool {
        let mut explored = ExploredTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            arguments: json!({}),
            expectations: vec![succeeds()],
            ..ExploredTool::default()
        };
        explored.skip = self.call_well(tool, &mut explored).await.err();
        let names = self.names.iter().copied();
        let subject = Subject::new(&tool.name, names, &tool.input_schema, &explored.arguments);
        match (subject, explored.skip.is_some()) {
            (Ok(subject), false) => self.call_badly(&subject, &mut explored).await,
            // What a test needs of a tool that was not called: it is there for whoever takes `skip:` away.
            (Ok(subject), true) => {
                let probes = Probe::ALL.into_iter();
                explored.checks = probes
                    .filter(|probe| probe.request(&subject).is_ok())
                    .collect();
            }
            (Err(error), true) => explored.unchecked = Some(error.to_string()),
            // Without a subject nothing bad can be made, and nothing is lost.
            (Err(_), false) => {}
        }
        explored
    }

    /// Calls the tool a few times, and notes what held each time; or why it cannot be tested.
    async fn call_well(&mut self, tool: &Tool, explored: &mut ExploredTool) -> Result<(), String> {
        explored.arguments = arguments::minimal(&tool.input_schema)
            .map_err(|error| format!("no arguments fit its schema: {error}"))?;
        if let Some(reason) = self.options.allowance.refusal(tool) {
            explored.is_left_alone = true;
            return Err(format!("not called: {reason}"));
        }
        if self.hung >= HUNG_MAX {
            return Err(format!("not called: {HUNG_MAX} tools before it hung"));
        }
        let mut documents = Vec::new();
        for _ in 0..CALLS {
            let session = self.sessions.session().await;
            let session = session.map_err(|_| "the server could not be reached again")?;
            let cannot_run = session.era() == Era::Handshake && !session.supports_task_calls();
            if tool.requires_task() && cannot_run {
                return Err("runs only as a task, which this session does not have".to_owned());
            }
            let timeout = self.options.session.call_timeout();
            let result = session
                .call_tool_within(&tool.name, &explored.arguments, timeout)
                .await
                .and_then(|reply| reply.parse::<Value>());
            let result = result.map_err(|error| {
                if is_unanswered(error.category()) || is_gone(error.category()) {
                    self.hung += 1;
                    self.sessions.replace();
                }
                how_it_failed(&error)
            })?;
            // The same that a run holds against it.
            if let Some(fault) = Fault::of(&result, tool.output_schema.as_ref()) {
                let why = fault.unquoted.rendered();
                return Err(format!("its result breaks the protocol: {why}"));
            }
            if let AfterAnswer::Ended(_) = self.sessions.pulse().after_answer(&session, true).await
            {
                self.sessions.replace();
                let why = "failed when this file was made: the server was gone after its answer";
                return Err(why.to_owned());
            }
            documents.push(json!({ "is_error": false, "result": result }));
        }
        explored.expectations = candidates(tool, &documents[0]);
        explored.expectations.retain(|(target, matcher)| {
            Matcher::from_value(matcher).is_ok_and(|matcher| {
                let target = target.clone();
                let expectation = Expectation { target, matcher };
                let holds = |document: &Value| judge(&expectation, document, &[]) == Ok(None);
                documents.iter().all(holds)
            })
        });
        Ok(())
    }

    async fn call_badly(&mut self, subject: &Subject<'_>, explored: &mut ExploredTool) {
        let examination = Examination {
            subject,
            probes: &Probe::ALL,
            timeout: self.options.probe_timeout,
        };
        for report in examine(&examination, &mut self.sessions).await.probes {
            match report.outcome {
                RequestOutcome::Passed => explored.checks.push(report.probe),
                RequestOutcome::Failed(_) => explored.findings.push(UnrejectedRequest {
                    tool: explored.name.clone(),
                    probe: report.probe,
                    message: report.unquoted.unwrap_or_default(),
                }),
                RequestOutcome::Skipped(_) | RequestOutcome::Undone(_) => {}
            }
        }
    }
}

/// That the call succeeds.
fn succeeds() -> (String, Value) {
    ("is_error".to_owned(), json!({ "exact": false }))
}

/// What a test could expect, by the first result.
fn candidates(tool: &Tool, document: &Value) -> Vec<(String, Value)> {
    let kind = document.pointer("/result/content/0/type");
    // Any other is a text of the server's own.
    let kind = kind
        .and_then(Value::as_str)
        .filter(|kind| is_content_kind(kind));
    let kind = kind.map(|kind| ("result.content[0].type", json!({ "exact": kind })));
    let is_small = |schema: &&Value| schema.to_string().len() <= SCHEMA_BYTES_MAX;
    let schema = tool.output_schema.as_ref().filter(is_small);
    let schema = schema.map(|schema| ("result.structuredContent", json!({ "schema": schema })));
    let more = kind.into_iter().chain(schema);
    let more = more.map(|(target, matcher)| (target.to_owned(), matcher));
    [succeeds()].into_iter().chain(more).collect()
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
