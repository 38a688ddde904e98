//! What the same bytes through the same server cost others, measured in the same run.

mod lean;
mod raw_pipe;
mod wrk;

pub use lean::lean_client;
pub use raw_pipe::raw_pipe;
pub use wrk::wrk;

/// The parameters of the call that everybody makes.
const PARAMS: &str = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"echo","arguments":{"message":"hello"}}"#;
