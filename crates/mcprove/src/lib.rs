//! The engine of mcprove, as a library: talk to any MCP server, in any revision, over any
//! transport, and find out whether it holds up.
//!
//! A [`Server`] says how a server is reached. A [`Session`](session::Session) is an agreement with
//! it, on which many calls can be in flight. [`check::health::probe`] calls every tool once. What
//! happens is emitted as events, which [`event`] sinks turn into metrics and traces.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use mcprove::event::EventStream;
//! use mcprove::fixture;
//! use mcprove::session::{Session, SessionOptions};
//! use serde_json::json;
//!
//! // A built-in server in this process; `Session::connect` starts or reaches any other.
//! let (output, input) = fixture::spawn_in_memory("normal", &fixture::Options::default()).unwrap();
//! let recorder = EventStream::unobserved().recorder();
//! let options = SessionOptions::default();
//! let session = Session::connect_streams(output, input, options, recorder).await.unwrap();
//!
//! let reply = session.call_tool("echo", &json!({ "message": "hi" })).await.unwrap();
//! assert!(reply.result().contains("hi"));
//! # });
//! ```

pub mod agent;
pub mod arguments;
mod budget;
pub mod check;
mod contained;
mod decision;
pub mod drive;
pub mod event;
pub mod fault;
pub mod fixture;
mod guarded;
mod hash;
pub mod hosting;
pub mod input;
pub mod lab;
pub mod loss;
pub mod mock;
pub mod permission;
pub mod private_file;
pub mod process;
pub mod protocol;
pub mod proxy;
pub mod quantity;
pub mod recording;
pub mod report;
pub mod run;
pub mod secret;
pub mod server;
pub mod session;
pub mod suite;
mod text;
pub mod transport;
mod whole_file;

pub use drive::{Scenario, ScenarioKind, ToolCall};
pub use run::{Report, Run, RunError, Thresholds};
pub use server::Server;
pub use whole_file::write_whole;
