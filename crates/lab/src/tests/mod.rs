//! The lab, tested with raw messages: in memory as over stdio, and over HTTP.

mod asking;
mod audited;
mod failing;
mod golden;
mod http;
mod keys;
mod notices;
mod own_audit;
mod support;
mod tools;
