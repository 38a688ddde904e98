//! The client against the published specification: its examples are read, what the client sends
//! is valid by its schemas, and the rules of a session are kept.

#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod agreement;
mod asking_server;
mod examples;
mod http_rules;
mod http_server;
mod messages;
mod peer;
mod rounds;
mod schema;
#[cfg(unix)]
mod scripts;
mod streams;
