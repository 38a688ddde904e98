//! A server made of a file: tools that answer what they are told to, resources, prompts, and faults on
//! demand. Over any transport, in both eras of the protocol ([`crate::hosting`]).
//!
//! A [`MockSpec`] says what the server is; `crate::tools_file` reads one from a file. Faults touch
//! only `tools/call` (and, of `vanish`, the list of tools), each call by itself: everything else stays
//! responsive, whatever fault there is.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use mcprove_trace::stream::EventStream;
//! use mcprove_servers::mock::{Mock, MockSpec, MockOptions, ToolSpec};
//! use mcprove_client::session::{Session, SessionOptions};
//! use serde_json::json;
//!
//! let search = ToolSpec::new("search").answering("found ${args.query}").unwrap();
//! let options = MockOptions {
//!     faults: vec!["error:-32000,calls=2".parse().unwrap()],
//!     ..MockOptions::default()
//! };
//! let mock = Mock::new(MockSpec::new("demo").with_tool(search), options).unwrap();
//!
//! let (output, input) = mock.spawn_in_memory();
//! let recorder = EventStream::unobserved().recorder();
//! let session = Session::connect_streams(output, input, SessionOptions::default(), recorder).await.unwrap();
//! let reply = session.call_tool("search", &json!({ "query": "x" })).await.unwrap();
//! assert!(reply.result().contains("found x"));
//! assert!(session.call_tool("search", &json!({ "query": "x" })).await.is_err());
//! assert_eq!(mock.summary().calls, 2);
//! # });
//! ```

mod faulted;
pub(crate) mod item;
mod log;
mod server;
mod spec;
pub(crate) mod template;
mod tool;

#[cfg(test)]
mod tests;

use mcprove_fault::{FaultCount, FaultSpec};
use mcprove_recording::RecordingSummary;

use crate::hosting;
use crate::prelude::*;

pub use crate::hosting::{Bound, Eras, ListenError, ListenerKind, Listening, PublicHost};
pub use spec::*;
pub use template::{RENDERED_BYTES_MAX, Template, TemplateError};
pub use tool::MockError;

pub(crate) use self::{
    faulted::FaultedExchange,
    log::{Log, LogEntry},
    server::{Server, Ticket},
    tool::Tool,
};

/// What can be chosen besides what the server is.
#[derive(Opaque, Clone, Default)]
pub struct MockOptions {
    /// The eras that it speaks.
    pub eras: Eras,
    /// What goes wrong on purpose.
    pub faults: Vec<FaultSpec>,
    /// What decides random choices of faults that have no seed of their own.
    pub seed: u64,
    /// Further names that it answers to over the network; see [`Host::public_hosts`].
    pub public_hosts: Vec<PublicHost>,
    /// Where every request is written down.
    pub recording: Option<Recording>,
}

/// A mock, ready to be served: as often as wanted, with one count of calls. Clones share it.
#[derive(Opaque, Clone)]
pub struct Mock {
    server: Arc<Server>,
    eras: Eras,
    public_hosts: Vec<PublicHost>,
}

/// What a mock has done so far.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct MockSummary {
    /// Calls of tools, struck or not.
    pub calls: u64,
    /// What each fault has done, in order.
    pub faults: Vec<FaultCount>,
    /// What was written down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingSummary>,
}

impl Mock {
    /// Makes a mock ready: its schemas are compiled here.
    pub fn new(spec: MockSpec, options: MockOptions) -> Result<Self, MockError> {
        let (eras, public_hosts) = (options.eras, options.public_hosts.clone());
        let server = Arc::new(Server::new(spec, options)?);
        Ok(Self {
            server,
            eras,
            public_hosts,
        })
    }

    /// Serves on the stdin and stdout of this process until the client leaves or a fault ends it, and
    /// returns the status with which the process is to exit. The caller then has to exit at once,
    /// without waiting for the runtime: a read of stdin may still be under way.
    pub async fn serve(&self) -> u8 {
        hosting::serve(self.host(Stderr::Process)).await
    }

    /// As [`Mock::serve`], and ends with status 0 when `stop` does: what is open then is closed first,
    /// and so has its end in the recording.
    pub async fn serve_until(&self, stop: impl Future<Output = ()>) -> u8 {
        hosting::serve_until(self.host(Stderr::Process), stop).await
    }

    /// From now on writes every request down here, unless there is a recording already.
    pub fn record(&self, recording: Recording) {
        self.server.record(recording);
    }

    /// Serves over the network, on the current runtime. The address may have port 0.
    pub async fn listen(
        &self,
        kind: ListenerKind,
        addr: SocketAddr,
    ) -> Result<Listening, ListenError> {
        hosting::listen(self.host(Stderr::Discard), kind, addr).await
    }

    /// Serves over the network, on the current runtime, on an address that was taken before.
    pub fn listen_on(&self, kind: ListenerKind, bound: Bound) -> Listening {
        Listening::start(self.host(Stderr::Discard), kind, bound)
    }

    /// Serves over a pipe in memory, on the current runtime, as over stdio: the server's stdout to
    /// read from and its stdin to write to.
    pub fn spawn_in_memory(&self) -> (impl AsyncRead + use<>, impl AsyncWrite + use<>) {
        hosting::spawn_in_memory(self.host(Stderr::Discard))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.server.name()
    }

    /// What it has done so far.
    pub fn summary(&self) -> MockSummary {
        MockSummary {
            calls: self.server.calls.load(Ordering::Relaxed),
            faults: self.server.injector.counts(),
            recording: self.server.log.recording.get().map(Recording::summary),
        }
    }

    fn host(&self, stderr: Stderr) -> Arc<Host> {
        let server = Arc::<Server>::clone(&self.server);
        Host::new(server, self.eras, stderr).public_hosts(self.public_hosts.clone())
    }
}
