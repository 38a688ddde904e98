//! Talking to a server: how it is reached ([`server`]), its process ([`process`]), how messages travel
//! ([`transport`]), calls in flight ([`session`]), and which tools may be called ([`permission`]).

pub mod permission;
mod prelude;
pub mod process;
pub mod server;
pub mod session;
pub mod transport;
