//! The tools of real servers: sessions with processes, addresses and mocks in memory.
//!
//! A server that cannot be started or does not list its tools is an error of the environment, before
//! anything is asked. One that hangs, dies or talks nonsense later gives answers that are errors, as an
//! agent would see them.

use mcprove_client::session::{Reply, ViolationKind};

use crate::prelude::*;

/// How much longer than its deadline a call may take until all that it takes is given up.
const GRACE: Duration = Duration::from_millis(500);

/// Sessions with the servers of one run.
#[derive(Default)]
pub struct LiveToolbox {
    sessions: Vec<(String, Session)>,
    tools: Vec<OfferedTool>,
    warnings: Vec<String>,
}

impl LiveToolbox {
    /// What this process ran out of while it talked to the servers.
    pub fn own_limit(&self) -> Option<OwnLimit> {
        let mut sessions = self.sessions.iter();
        sessions.find_map(|(_, session)| session.own_limit())
    }

    /// Starts or reaches all servers at once, and lists their tools. `seed` decides for faults of mocks that
    /// have no seed of their own.
    pub async fn connect(
        servers: &[&ServerPlan],
        environment: &Environment,
        seed: u64,
    ) -> DiagnosticResult<Self> {
        let connecting = servers.iter().map(|plan| async move {
            let session = connect(plan, environment, seed).await?;
            match list(&plan.name, &session).await {
                Ok(listed) => Ok((session, listed)),
                Err(error) => {
                    session.end().await;
                    Err(error)
                }
            }
        });
        let connected = join_all(connecting).await;
        let mut toolbox = Self::default();
        let mut failure = None;
        for (plan, outcome) in servers.iter().zip(connected) {
            match outcome {
                Ok((session, (tools, warnings))) => {
                    toolbox.tools.extend(tools);
                    toolbox.warnings.extend(warnings);
                    toolbox.sessions.push((plan.name.clone(), session));
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        match failure {
            None => Ok(toolbox),
            Some(error) => {
                toolbox.close().await;
                Err(error)
            }
        }
    }

    /// What is odd about the servers, but harmless: tools that cannot be offered, for example.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Ends all sessions, and with them the processes.
    pub async fn close(&self) {
        join_all(self.sessions.iter().map(|(_, session)| session.end())).await;
    }

    async fn ask(&self, request: ToolRequest<'_>) -> ToolAnswer {
        let ToolRequest {
            server, timeout, ..
        } = request;
        let session = self.sessions.iter().find(|(name, _)| name == server);
        let Some((_, session)) = session else {
            let message = format!("no server is called {server:?}");
            return lost(ErrorCategory::Disconnected, &message, Duration::ZERO);
        };
        let began = Instant::now();
        let call = session.call_tool_within(request.tool, request.args, timeout);
        // A call may take several requests, each with the deadline; the first one to pass tells more.
        let answered = tokio::time::timeout(timeout.saturating_add(GRACE), call).await;
        let duration = began.elapsed();
        match answered {
            Ok(Ok(reply)) => of_reply(&reply, false, duration),
            Ok(Err(error)) => of_error(&error, duration),
            Err(_) => {
                let message = format!("no answer within {}", describe_duration(timeout));
                lost(ErrorCategory::Timeout, &message, duration)
            }
        }
    }
}

impl Toolbox for LiveToolbox {
    fn tools(&self) -> &[OfferedTool] {
        &self.tools
    }

    fn call<'a>(&'a self, call: ToolRequest<'a>) -> BoxFuture<'a, DiagnosticResult<ToolAnswer>> {
        Box::pin(async move { Ok(self.ask(call).await) })
    }
}

/// A session with a server of a suite, whose texts are filled in.
async fn connect(
    plan: &ServerPlan,
    environment: &Environment,
    seed: u64,
) -> DiagnosticResult<Session> {
    let name = &plan.name;
    let server = match &plan.reach {
        Reach::Server(server) => environment
            .fill_server(server)
            .map_err(|error| error.of(format!("server {name:?} cannot be started")))?,
        Reach::Mock { spec, faults } => {
            // Faults are aimed at it by the name that it has in the suite.
            let spec = MockSpec {
                name: name.clone(),
                ..(**spec).clone()
            };
            let mock = mock(name, spec, faults, seed)?;
            Server::in_memory(name, move || mock.spawn_in_memory())
        }
    };
    let recorder = EventStream::unobserved().recorder();
    Session::connect_recorded(&server, plan.session.options(), recorder)
        .await
        .map_err(|error| {
            let message = format!("server {name:?} cannot be used: {error}");
            let hint = error.hint().fixed(Spelling::Yaml);
            Diagnostic::new(with_stderr(message, error.stderr().trim_end()), hint)
        })
}

/// The tools, each once, and what is odd about them. A server that says it has none has none.
async fn list(
    server: &str,
    session: &Session,
) -> Result<(Vec<OfferedTool>, Vec<String>), Diagnostic> {
    let mut warnings = Vec::new();
    let listed = match session.list_tools().await {
        Ok(listed) => listed,
        Err(error) => {
            let has_tools = session.facts().capabilities.get("tools").is_some();
            if has_tools || error.code() != Some(METHOD_NOT_FOUND) {
                return Err(Diagnostic::new(
                    format!("server {server:?} does not list its tools: {error}"),
                    sentence!(
                        "look at the server with {}",
                        command_or("probe", "mcprove::probe")
                    ),
                ));
            }
            warnings.push(format!("server {server:?} has no tools"));
            Vec::new()
        }
    };
    for violation in session.violations().first {
        if violation.kind == ViolationKind::InvalidTool {
            warnings.push(format!("server {server:?}: {}", violation.message));
        }
    }
    let mut names = HashSet::new();
    let mut tools = Vec::with_capacity(listed.len());
    for tool in listed {
        if names.insert(tool.name.clone()) {
            tools.push(offered(server, tool));
        } else {
            let name = tool.name;
            warnings.push(format!("server {server:?} lists the tool {name:?} twice"));
        }
    }
    Ok((tools, warnings))
}

/// A tool as an agent is offered it.
pub(super) fn offered(server: &str, tool: Tool) -> OfferedTool {
    let hints = tool.annotations.map(|annotations| ToolHints {
        read_only_hint: annotations.read_only_hint,
        idempotent_hint: annotations.idempotent_hint,
    });
    OfferedTool {
        server: server.to_owned(),
        name: tool.name,
        description: tool.description,
        input_schema: match tool.input_schema {
            Value::Null => json!({}),
            schema => schema,
        },
        annotations: hints.filter(|hints| *hints != ToolHints::default()),
    }
}

fn of_reply(reply: &Reply, is_error: bool, duration: Duration) -> ToolAnswer {
    match serde_json::from_str::<Json>(reply.result()) {
        Ok(result) => ToolAnswer {
            result,
            is_error,
            duration,
        },
        Err(error) => {
            let message = format!("the result cannot be read: {error}");
            lost(ErrorCategory::Malformed, &message, duration)
        }
    }
}

fn of_error(error: &CallError, duration: Duration) -> ToolAnswer {
    if let (ErrorCategory::ToolError, Some(reply)) = (error.category(), &error.reply) {
        return of_reply(reply, true, duration);
    }
    let Some(told) = &error.error else {
        return lost(error.category(), &error.to_string(), duration);
    };
    let mut error = json!({ "code": told.code, "message": told.message });
    if let Some(data) = &told.data {
        error["data"] = data.clone();
    }
    failed(&error, duration)
}

/// The answer to a call that the server did not answer. It has no code, for no server gave it one.
fn lost(category: ErrorCategory, why: &str, duration: Duration) -> ToolAnswer {
    let message = if is_unanswered(category) {
        format!("the call timed out: {why}")
    } else {
        why.to_owned()
    };
    let error = json!({ "category": category, "message": message });
    failed(&error, duration)
}

fn failed(error: &Value, duration: Duration) -> ToolAnswer {
    ToolAnswer {
        result: json!({ "error": error }).into(),
        is_error: true,
        duration,
    }
}

#[cfg(test)]
mod tests;
