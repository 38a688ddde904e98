//! One server of a suite: its texts filled in, a session with it, and its tools.

use std::collections::HashSet;

use mcprove_client::session::{Session, ViolationKind};
use mcprove_servers::mock::MockSpec;
use mcprove_settings::message::Spelling;
use mcprove_trace::ToolHints;
use mcprove_trace::protocol::{METHOD_NOT_FOUND, Tool};
use mcprove_trace::stream::EventStream;
use serde_json::Value;

use crate::agent::toolbox::OfferedTool;
use crate::error::{SET_VARIABLE, TestError, with_stderr};
use crate::plan::{self, Environment, Reach, ServerPlan};

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
) -> Result<Connected, TestError> {
    let name = &plan.name;
    let (options, recorder) = (plan.session.options(), EventStream::unobserved().recorder());
    let session = match &plan.reach {
        Reach::Server(server) => {
            let server = environment.fill_server(server).map_err(|error| {
                let message = format!("server {name:?} cannot be started: {error}");
                TestError::new(message, SET_VARIABLE)
            })?;
            Session::connect_recorded(&server, options, recorder).await
        }
        Reach::Mock { spec, faults } => {
            // Faults are aimed at it by the name that it has in the suite.
            let spec = MockSpec {
                name: name.clone(),
                ..(**spec).clone()
            };
            let mock = plan::mock(spec, faults, seed).map_err(|error| {
                TestError::new(
                    format!("the mock {name:?} cannot be made: {error}"),
                    "check the file of its tools with `mcprove validate`",
                )
            })?;
            let (output, input) = mock.spawn_in_memory();
            Session::connect_streams(output, input, options, recorder).await
        }
    };
    let session = session.map_err(|error| {
        let message = format!("server {name:?} cannot be used: {error}");
        let hint = error.hint().spelled(Spelling::Yaml);
        TestError::new(with_stderr(message, error.stderr().trim_end()), hint)
    })?;
    let mut warnings = Vec::new();
    match list(name, &session, &mut warnings).await {
        Ok(tools) => Ok(Connected {
            session,
            tools,
            warnings,
        }),
        Err(message) => {
            session.end().await;
            Err(TestError::new(
                format!("server {name:?} does not list its tools: {message}"),
                "look at the server with `mcprove probe`",
            ))
        }
    }
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
