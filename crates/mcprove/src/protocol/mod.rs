//! The protocol as data: revisions, JSON-RPC envelopes, MCP messages.
//!
//! Nothing here does I/O. Transports move what this folder reads and writes.

mod encode;
mod envelope;
mod messages;
mod revision;

pub use encode::{
    META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_PROTOCOL_VERSION, META_SERVER_INFO,
    META_SUBSCRIPTION_ID, RequestMeta, notification, reply, tool_call_params, write_json_string,
    write_request,
};
pub use envelope::{Envelope, Id, Message, find_id, span_of, split_batch};
pub use messages::{
    DiscoverResult, HEADER_MISMATCH, INVALID_PARAMS, Implementation, InitializeResult,
    METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, RpcError, Tool, ToolAnnotations, ToolExecution,
    UNSUPPORTED_PROTOCOL_VERSION,
};
pub use revision::{Era, Revision, UnknownRevision};
