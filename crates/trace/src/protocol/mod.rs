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

pub use bounded::{BoundedError, VALUES_MAX, count_values, depth, is_doubtful, parse_bounded};
pub use encode::{
    META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_PROTOCOL_VERSION, META_RELATED_TASK,
    META_SERVER_INFO, META_SUBSCRIPTION_ID, RequestMeta, notification, reply, tool_call_params,
    write_json_string, write_request,
};
pub use envelope::{Envelope, Id, Message, find_id, span_of, split_batch};
pub use failed_answer::FailedAnswer;
pub use messages::{
    DiscoverResult, HEADER_MISMATCH, INVALID_PARAMS, Implementation, InitializeResult,
    METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, RpcError, Tool, ToolAnnotations, ToolExecution,
    UNSUPPORTED_PROTOCOL_VERSION,
};
pub use parameter_headers::{InvalidParameterHeader, ParameterHeaders, encode_header_value};
pub use revision::{Era, Revision, UnknownRevision};
pub use tool_result::{find_fault, find_strict_fault, is_content_kind, kind};
