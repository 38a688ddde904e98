//! The protocol as data: revisions, JSON-RPC envelopes, MCP messages.
//!
//! Nothing here does I/O. Transports move what this folder reads and writes.

mod revision;

pub use revision::{Era, Revision, UnknownRevision};
