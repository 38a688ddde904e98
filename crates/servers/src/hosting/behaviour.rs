//! What a server decides for itself. Everything that it leaves alone is done the healthy way.

use crate::prelude::*;

/// What becomes of a frame, before anybody looks whether it is a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is read and answered.
    Serve,
    /// It is dropped, and the next one is read.
    Ignore,
    /// The whole server stops reading for ever.
    Stall,
    /// The server exits with this status.
    Exit(u8),
}

/// What is called when the client cancels work that does not heed it.
pub type Shield = Box<dyn FnOnce() + Send>;

/// The mind of a server.
#[async_trait]
pub trait Behaviour: Send + Sync + 'static {
    /// Who the server says it is, as an `Implementation` of the protocol.
    fn identity(&self) -> Value {
        json!({ "name": "mcprove-fixture", "version": env!("CARGO_PKG_VERSION") })
    }

    /// What the server tells clients about itself, in words; empty for nothing.
    fn instructions(&self) -> String {
        "A built-in server of mcprove.".to_owned()
    }

    /// Runs before anything is read or any connection is accepted.
    async fn start(&self, _host: &Host) {}

    /// The tools that are listed to a client of this revision.
    fn tools(&self, _revision: Revision) -> Vec<Value> {
        tools::healthy()
    }

    /// The capabilities that are declared to a client of this revision.
    fn capabilities(&self, _revision: Revision) -> Value {
        json!({ "tools": {} })
    }

    /// How many tools one page of `tools/list` has.
    fn page_size(&self) -> usize {
        usize::MAX
    }

    /// Who a client over the network is, from the headers of its HTTP request; a refusal is answered
    /// with 401 before anything else of the request is read.
    fn authorise(&self, _headers: &HeaderMap) -> Result<Option<Identity>, Unauthorised> {
        Ok(None)
    }

    /// What to wait for before anything more is taken, so that what this server keeps of requests does
    /// not grow without bounds; `None` for nothing.
    fn ready(&self) -> Option<BoxFuture<'_, ()>> {
        None
    }

    /// Sees a request from its arrival to its end; `None` leaves it unseen. Called in the order of
    /// arrival, before any work begins, also for what will be refused.
    fn watch(&self, _arrival: &Arrival<'_>) -> Option<Box<dyn Watch>> {
        None
    }

    /// A notification arrived, of any method.
    fn notified(&self, _session: &Session, _method: &str, _params: &Map<String, Value>) {}

    /// An HTTP request was not let in: nobody [watches](Behaviour::watch) it.
    fn turned_away(&self, _caller: &Caller, _refused: TurnedAway<'_>) {}

    /// Something came that is no message, and was refused.
    fn malformed(&self, _refused: Malformed<'_>) {}

    /// A client opened a session over the network; over stdio the process is the session.
    fn opened(&self) {}

    /// Decides what becomes of the bytes of a message or batch, in the order in which they arrive.
    fn inspect(&self, _frame: &[u8]) -> Fate {
        Fate::Serve
    }

    /// Whether reading stops for ever at this request, before it is answered.
    fn blocks(&self, _request: &Request) -> bool {
        false
    }

    /// Whether the work on a request goes on though the client cancels it: then this is called when it
    /// does. Asked before the work begins.
    fn shield(&self, _exchange: &Exchange) -> Option<Shield> {
        None
    }

    /// Sees a request of any method first. Whether it has dealt with it; else it is answered the healthy way.
    async fn intercept(&self, _exchange: &Exchange) -> bool {
        false
    }

    /// The client cancelled a request of this method while it was being worked on.
    fn cancelled(&self, _method: &str) {}

    /// The client of a session ended its connection, at this moment. What it asked for may still be worked on
    /// for a little while.
    fn left(&self, _session: &Session) {}

    /// How long the server stays after the client closed its stdin.
    fn linger(&self) -> Duration {
        Duration::ZERO
    }

    /// What is wrong with the arguments of a call, in words for the model that made it. `tool` is as
    /// it was listed.
    fn problem(&self, tool: &Value, arguments: &Map<String, Value>) -> Option<String> {
        tools::problem(tool.get("inputSchema").unwrap_or(&Value::Null), arguments)
    }

    /// Answers a `tools/call` whose tool and arguments were found valid.
    async fn call(&self, exchange: &Exchange) {
        exchange.reply_healthy().await;
    }

    /// Whether calls take the short path of `lean.rs`, which bypasses
    /// [`Behaviour::call`].
    fn is_lean(&self) -> bool {
        false
    }
}
