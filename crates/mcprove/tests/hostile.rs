//! Servers that mean no good: whatever they send, `mcprove` ends in time with a category and a
//! hint, in bounded memory and without a panic, writes nothing of theirs raw to a terminal, and
//! leaves no process behind.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

#[path = "hostile/clients.rs"]
mod clients;
#[path = "hostile/ending.rs"]
mod ending;
#[path = "hostile/flood.rs"]
mod flood;
#[path = "hostile/http.rs"]
mod http;
#[path = "hostile/messages.rs"]
mod messages;
#[path = "hostile/run.rs"]
mod run;
#[path = "hostile/size.rs"]
mod size;
#[path = "hostile/terminal.rs"]
mod terminal;
#[path = "hostile/tools.rs"]
mod tools;
#[path = "hostile/websocket.rs"]
mod websocket;
