//! The tools that an agent has, and what they answer.

use crate::prelude::*;

/// A tool that was offered.
#[sparse]
#[data]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FitsTool")]
pub struct OfferedTool {
    /// The name of its server in the suite; a cassette has the tools below their server.
    #[serde(skip)]
    pub server: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What its arguments must be.
    pub input_schema: Value,
    /// What it says of itself.
    pub annotations: Option<ToolHints>,
}

/// A call of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolRequest<'a> {
    /// The name of the server.
    pub server: &'a str,
    pub tool: &'a str,
    /// Its arguments.
    pub args: &'a Value,
    /// How long it may take.
    pub timeout: Duration,
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

/// The tools of the servers of one run.
pub trait Toolbox: Send + Sync {
    /// All of them, in the order of the servers.
    fn tools(&self) -> &[OfferedTool];

    /// Calls one; an error is that a recording has no such call. A server that hangs, dies or talks nonsense gives an answer that is an error, as an
    /// agent would see it.
    fn call<'a>(&'a self, call: ToolRequest<'a>) -> BoxFuture<'a, DiagnosticResult<ToolAnswer>>;
}
