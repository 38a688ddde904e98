//! The vocabulary of a run: what happened (events), how a call can fail (categories), and what an
//! agent did (agent traces).
//!
//! Engines emit [`Event`]s; every trace, metric and report is computed from them. An
//! [`AgentTrace`] is read from a file, in its own format or [imported](import) from another tool's.

mod agent;
mod category;
mod event;
mod fault;
pub mod import;
mod json;
mod record;
mod strike;
pub mod verbs;
pub(crate) mod whole;

pub use agent::{
    AGENT_TRACE_FORMAT, AgentRun, AgentTrace, AgentTraceFile, Conversation, FaultMark, RealAnswer,
    Retry, StopReason, Tokens, ToolCall, ToolHints, ToolResult, Turn,
};
pub use category::ErrorCategory;
pub use event::{CallFailure, CallTag, Event, EventKind, RequestKey};
pub use fault::{Execution, FaultKind, Heard};
pub use json::Json;
pub use record::{RecordError, TraceError, TraceRecord};
pub use strike::Strike;
