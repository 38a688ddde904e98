//! The lab, spoken to in raw messages: in memory as over stdio, and over HTTP.

mod asking;
mod audited;
mod failing;
mod golden;
mod http;
mod keys;
mod notices;
mod support;
mod tools;
