//! One server of a suite: its texts filled in, a session with it, and its tools.

use std::collections::{BTreeMap, HashSet};

use mcprove_client::server::{Server, Transport};
use mcprove_client::session::{Session, ViolationKind};
use mcprove_fault::FaultSpec;
use mcprove_servers::mock::{Mock, MockSpec, Options};
use mcprove_trace::ToolHints;
use mcprove_trace::protocol::Tool;
use mcprove_trace::stream::EventStream;
use serde_json::Value;

use super::ToolboxSetupError;
use crate::agent::toolbox::OfferedTool;
use crate::plan::{Environment, FillError, Reach, ServerPlan};

/// What a server says of a method that it does not have.
const METHOD_NOT_FOUND: i64 = -32_601;

/// A server that answers.
pub(super) struct Connected {
    pub session: Session,
    pub tools: Vec<OfferedTool>,
    pub warnings: Vec<String>,
}

pub(super) async fn connect(
    plan: &ServerPlan,
    environment: &Environment,
    seed: u64,
) -> Result<Connected, ToolboxSetupError> {
    let session = match &plan.reach {
        Reach::Server(server) => start(plan, server, environment).await?,
        Reach::Mock { spec, faults } => mock(plan, spec, faults, seed).await?,
    };
    let mut warnings = Vec::new();
    match list(&plan.name, &session, &mut warnings).await {
        Ok(tools) => Ok(Connected {
            session,
            tools,
            warnings,
        }),
        Err(message) => {
            session.end().await;
            Err(ToolboxSetupError::List {
                server: plan.name.clone(),
                message,
            })
        }
    }
}

async fn start(
    plan: &ServerPlan,
    server: &Server,
    environment: &Environment,
) -> Result<Session, ToolboxSetupError> {
    let server = fill(server, environment).map_err(|error| ToolboxSetupError::Unfilled {
        server: plan.name.clone(),
        error,
    })?;
    let recorder = EventStream::unobserved().recorder();
    let session = Session::connect_recorded(&server, plan.session.options(), recorder).await;
    session.map_err(|error| ToolboxSetupError::Connect {
        server: plan.name.clone(),
        error,
    })
}

/// The server with the variables in its texts filled in. The program and the host have none.
fn fill(server: &Server, environment: &Environment) -> Result<Server, FillError> {
    let fill_all =
        |texts: &BTreeMap<String, String>| -> Result<BTreeMap<String, String>, FillError> {
            let filled = texts
                .iter()
                .map(|(name, text)| Ok((name.clone(), environment.fill(text)?)));
            filled.collect()
        };
    let args: Result<Vec<String>, FillError> = server
        .args
        .iter()
        .map(|text| environment.fill(text))
        .collect();
    let transport = match &server.transport {
        Transport::Stdio => Transport::Stdio,
        Transport::Http { url, headers } => Transport::Http {
            url: environment.fill(url)?,
            headers: fill_all(headers)?,
        },
        Transport::Sse { url, headers } => Transport::Sse {
            url: environment.fill(url)?,
            headers: fill_all(headers)?,
        },
        Transport::WebSocket { url, headers } => Transport::WebSocket {
            url: environment.fill(url)?,
            headers: fill_all(headers)?,
        },
    };
    Ok(Server {
        args: args?,
        env: fill_all(&server.env)?,
        transport,
        ..server.clone()
    })
}

async fn mock(
    plan: &ServerPlan,
    spec: &MockSpec,
    faults: &[FaultSpec],
    seed: u64,
) -> Result<Session, ToolboxSetupError> {
    // Faults are aimed at it by the name that it has in the suite.
    let spec = MockSpec {
        name: plan.name.clone(),
        ..spec.clone()
    };
    let options = Options {
        faults: faults.to_vec(),
        seed,
        ..Options::default()
    };
    let mock = Mock::new(spec, options).map_err(|error| ToolboxSetupError::Mock {
        server: plan.name.clone(),
        error,
    })?;
    let (output, input) = mock.spawn_in_memory();
    let recorder = EventStream::unobserved().recorder();
    let session = Session::connect_streams(output, input, plan.session.options(), recorder).await;
    session.map_err(|error| ToolboxSetupError::Connect {
        server: plan.name.clone(),
        error,
    })
}

/// The tools, each once. A server that says it has none has none.
async fn list(
    server: &str,
    session: &Session,
    warnings: &mut Vec<String>,
) -> Result<Vec<OfferedTool>, String> {
    let listed = match session.list_tools().await {
        Ok(listed) => listed,
        Err(error) => {
            let has_tools = session.facts().capabilities.get("tools").is_some();
            if has_tools || error.code() != Some(METHOD_NOT_FOUND) {
                return Err(error.to_string());
            }
            warnings.push(format!("server {server:?} has no tools"));
            return Ok(Vec::new());
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
    Ok(tools)
}

fn offered(server: &str, tool: Tool) -> OfferedTool {
    let hints = tool.annotations.map(|annotations| ToolHints {
        read_only_hint: annotations.read_only_hint,
        idempotent_hint: annotations.idempotent_hint,
    });
    OfferedTool {
        server: server.to_owned(),
        name: tool.name,
        description: tool.description,
        input_schema: match tool.input_schema {
            Value::Null => Value::Object(serde_json::Map::default()),
            schema => schema,
        },
        annotations: hints.filter(|hints| *hints != ToolHints::default()),
    }
}
