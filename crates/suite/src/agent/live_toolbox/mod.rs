//! The tools of real servers: sessions with processes, addresses and mocks in memory.
//!
//! A server that cannot be started or does not list its tools is an error of the environment, before
//! anything is asked. One that hangs, dies or talks nonsense later gives answers that are errors, as an
//! agent would see them.

mod connect;

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mcprove_client::session::{CallError, Reply, Session};
use mcprove_settings::own_limits::OwnLimit;
use mcprove_settings::quantity::describe_duration;
use mcprove_trace::{ErrorCategory, Json};
use serde_json::{Map, Value, json};

use super::model::Later;
use super::toolbox::{OfferedTool, ToolAnswer, Toolbox};
use crate::error::TestError;
use crate::plan::{Environment, ServerPlan};

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
    ) -> Result<Self, TestError> {
        let connecting = servers
            .iter()
            .map(|plan| connect::connect(plan, environment, seed));
        let connected = join_all(connecting).await;
        let mut toolbox = Self::default();
        let mut failure = None;
        for (plan, outcome) in servers.iter().zip(connected) {
            match outcome {
                Ok(connected) => {
                    toolbox.tools.extend(connected.tools);
                    toolbox.warnings.extend(connected.warnings);
                    let entry = (plan.name.clone(), connected.session);
                    toolbox.sessions.push(entry);
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

    async fn ask(&self, server: &str, tool: &str, args: &Value, timeout: Duration) -> ToolAnswer {
        let session = self.sessions.iter().find(|(name, _)| name == server);
        let Some((_, session)) = session else {
            let message = format!("no server is called {server:?}");
            return lost(ErrorCategory::Disconnected, &message, Duration::ZERO);
        };
        let began = Instant::now();
        let call = session.call_tool_within(tool, args, timeout);
        // A call may take several requests, each with the deadline; the first one to pass tells more.
        let answered = tokio::time::timeout(timeout.saturating_add(GRACE), call).await;
        let duration = whole_micros(began.elapsed());
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

    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        args: &'a Value,
        timeout: Duration,
    ) -> Later<'a, Result<ToolAnswer, TestError>> {
        Box::pin(async move { Ok(self.ask(server, tool, args, timeout).await) })
    }
}

/// A time that can be written down and read again without loss.
pub(super) fn whole_micros(duration: Duration) -> Duration {
    Duration::from_micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
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
    let mut error = Map::new();
    error.insert("code".to_owned(), told.code.into());
    error.insert("message".to_owned(), told.message.as_str().into());
    error.extend(told.data.clone().map(|data| ("data".to_owned(), data)));
    failed(&error.into(), duration)
}

/// The answer to a call that the server did not answer. It has no code, for no server gave it one.
fn lost(category: ErrorCategory, why: &str, duration: Duration) -> ToolAnswer {
    let message = match category {
        ErrorCategory::Timeout | ErrorCategory::Hang | ErrorCategory::Deadlock => {
            format!("the call timed out: {why}")
        }
        _ => why.to_owned(),
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
