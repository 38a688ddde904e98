//! The engine of mcprove, as a library: talk to any MCP server, in any revision, over any transport.

pub mod arguments;
pub mod event;
pub mod fixture;
pub mod process;
pub mod protocol;
pub mod server;
pub mod session;
pub mod transport;

pub use server::Server;
