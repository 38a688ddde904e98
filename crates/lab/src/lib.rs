//! The lab: a server that fails on purpose, in ways that are written down, and the record that it
//! keeps of what it was asked.
//!
//! A tool is declared in `catalogue/lab.json` and has one line in `tools/mod.rs`. It is served over any
//! transport, in both eras of the protocol ([`mcprove_servers::hosting`]).
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use mcprove_trace::stream::EventStream;
//! use mcprove_lab as lab;
//! use mcprove_lab::LabOptions;
//! use mcprove_client::session::{Session, SessionOptions};
//! use serde_json::json;
//!
//! let (output, input) = lab::spawn_in_memory(&LabOptions::default());
//! let recorder = EventStream::unobserved().recorder();
//! let options = SessionOptions::default();
//! let session = Session::connect_streams(output, input, options, recorder).await.unwrap();
//!
//! let arguments = json!({ "fail_rate": 0.3, "seed": "gateway", "call_id": 7 });
//! let reply = session.call_tool("flaky", &arguments).await.unwrap();
//! assert!(reply.result().contains("0.3625"));
//! # });
//! ```

use std::net::SocketAddr;
use std::num::NonZero;

use behaviour::Lab;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::prelude::*;

mod ask;
pub mod audit;
mod behaviour;
mod call;
mod catalogue;
mod category;
mod keys;
mod methods;
mod prelude;
pub mod report;
mod resources;
mod state;
mod tools;
mod watch;

#[cfg(test)]
mod tests;

pub use catalogue::LabTool;
pub use keys::{ApiKeys, KEY_FORM, KeyError, KeyLineError};
pub use mcprove_servers::hosting::{Eras, ListenError, ListenerKind, Listening, PublicHost};

/// How a lab is set up.
#[derive(Debug, Clone, Default)]
pub struct LabOptions {
    /// The eras that it speaks.
    pub eras: Eras,
    /// How many tools, resources or prompts a page of their list has; all of them without it.
    pub page_size: Option<NonZero<usize>>,
    /// The keys that let a client in over the network; everybody is let in without any.
    pub api_keys: ApiKeys,
    /// Whether it also has the tools, resources and prompts that the official conformance suite names.
    pub conformance_fixtures: bool,
    /// Further names that it answers to over the network; see [`Host::public_hosts`].
    pub public_hosts: Vec<PublicHost>,
    /// Where every request is written down; nowhere without it.
    pub audit: Option<Arc<audit::AuditStore>>,
}

/// Every tool, except what only the conformance suite wants.
pub fn tools() -> &'static [LabTool] {
    &catalogue::LAB.tools
}

/// Serves on the stdin and stdout of this process until the client leaves or `stop` is done, and returns
/// the status with which the process is to exit. By then every request has its row in the audit. The caller
/// then has to exit at once, without waiting for the runtime: a read of stdin may still be under way.
pub async fn serve(options: &LabOptions, stop: impl Future<Output = ()>) -> u8 {
    hosting::serve_until(host(options, Stderr::Process), stop).await
}

/// Serves over the network, on the current runtime. The address may have port 0.
pub async fn listen(
    options: &LabOptions,
    kind: ListenerKind,
    addr: SocketAddr,
) -> Result<Listening, ListenError> {
    hosting::listen(host(options, Stderr::Discard), kind, addr).await
}

/// Serves over a pipe in memory, on the current runtime, as over stdio: the server's stdout to read from
/// and its stdin to write to.
pub fn spawn_in_memory(options: &LabOptions) -> (impl AsyncRead + use<>, impl AsyncWrite + use<>) {
    hosting::spawn_in_memory(host(options, Stderr::Discard))
}

fn host(options: &LabOptions, stderr: Stderr) -> Arc<Host> {
    Host::new(Arc::new(Lab::new(options)), options.eras, stderr)
        .public_hosts(options.public_hosts.clone())
}
