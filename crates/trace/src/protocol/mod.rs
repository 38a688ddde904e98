//! The protocol as data: revisions, JSON-RPC envelopes, MCP messages.
//!
//! Nothing here does I/O. Transports move what this folder reads and writes.

mod bounded;
mod encode;
mod envelope;
mod failed_answer;
mod messages;
pub mod parameter_headers;
mod revision;
pub mod sse;
mod tool_result;

pub use bounded::*;
pub use encode::*;
pub use envelope::*;
pub use failed_answer::FailedAnswer;
pub use messages::*;
pub use parameter_headers::{InvalidParameterHeader, ParameterHeaders, encode_header_value};
pub use revision::*;
pub use tool_result::*;
