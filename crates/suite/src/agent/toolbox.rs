//! The tools that an agent has, and what they answer.

use std::time::Duration;

use mcprove_trace::{Json, ToolHints};
use serde_json::Value;
use thiserror::Error;

use super::model::Later;

/// A tool that an agent is offered.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// The name of its server in the suite.
    pub server: String,
    /// Its own name, without the server's.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What its arguments must be.
    pub input_schema: Value,
    /// What it says of itself.
    pub annotations: Option<ToolHints>,
}

/// What a call of a tool came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// The whole result, or for a JSON-RPC error `{"error": {"code", "message", "data"}}`.
    pub result: Json,
    /// Whether it is an error, of either kind.
    pub is_error: bool,
    /// How long it took.
    pub duration: Duration,
}

/// Why a call has no answer that an agent could be given.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ToolboxError {
    /// A recording has no such call: it names the nearest one, and the difference.
    #[error("{message}")]
    NotRecorded {
        /// What is missing.
        message: String,
        /// What to try.
        hint: String,
    },
}

/// The tools of the servers of one run.
pub trait Toolbox: Send + Sync {
    /// All of them, in the order of the servers.
    fn tools(&self) -> &[OfferedTool];

    /// Calls one. A server that hangs, dies or talks nonsense gives an answer that is an error, as an
    /// agent would see it.
    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        args: &'a Value,
        timeout: Duration,
    ) -> Later<'a, Result<ToolAnswer, ToolboxError>>;
}
