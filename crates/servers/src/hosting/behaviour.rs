//! What a server decides for itself, and what it is told of requests and of who sends them. Everything that it leaves
//! alone is done the healthy way.

use crate::prelude::*;

/// What becomes of a frame, before anybody looks whether it is a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// It is read and answered.
    Serve,
    /// It is dropped, and the next one is read.
    Ignore,
    /// The whole server stops reading for ever.
    Stall,
    /// The server exits with this status.
    Exit(u8),
}

/// Called when the client cancels work that goes on regardless.
pub type Shield = Box<dyn FnOnce() + Send>;

/// How a server answers.
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
    fn notified(&self, _session: &Session, _method: &str, _params: &Fields) {}

    /// An HTTP request was not let in: nobody [watches](Behaviour::watch) it.
    fn turned_away(&self, _caller: &Caller, _refused: TurnedAway<'_>) {}

    /// Something came that is no message, and was refused.
    fn malformed(&self, _refused: Malformed<'_>) {}

    /// A client opened a session over the network; over stdio the process is the session.
    fn opened(&self) {}

    /// After how long without a request a session over HTTP is forgotten; `None` for never.
    fn idle_max(&self) -> Option<Duration> {
        None
    }

    /// Decides what becomes of the bytes of a message or batch, in the order in which they arrive.
    fn inspect(&self, _frame: &[u8]) -> Disposition {
        Disposition::Serve
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
    fn problem(&self, tool: &Value, arguments: &Fields) -> Option<String> {
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

/// Who a client is known to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub user: String,
    /// How it was proved, for instance `api_key`.
    pub auth_type: &'static str,
}

/// Where a message came from.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The transport; none is stdio, or a pipe in memory.
    pub kind: Option<ListenerKind>,
    /// The address at the other end, over the network.
    pub remote: Option<SocketAddr>,
    /// The headers: of the HTTP request that brought the message, or of the one that became a WebSocket.
    pub headers: HeaderMap,
    /// Who it is, if the server asked for proof.
    pub identity: Option<Identity>,
}

impl Caller {
    /// The name of the transport, as it is written in files and on the command line.
    pub const fn transport(&self) -> &'static str {
        match self.kind {
            None => "stdio",
            Some(ListenerKind::Http) => "http",
            Some(ListenerKind::Sse) => "sse",
            #[cfg(feature = "ws")]
            Some(ListenerKind::WebSocket) => "ws",
        }
    }

    /// The name of who it is, if the server asked for proof.
    pub fn user(&self) -> Option<&str> {
        Some(&self.identity.as_ref()?.user)
    }

    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// The refusal of a client that did not prove who it is: 401 over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unauthorised {
    /// The value of `WWW-Authenticate`.
    pub challenge: String,
    /// What is wrong, in a line of text.
    pub reason: String,
}

/// How the work on a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With an answer.
    Answered,
    /// The client cancelled it.
    Cancelled,
    /// The client left before the answer.
    Disconnected,
    /// The server was stopped before the answer.
    Stopped,
    /// It was given up, or found no answer, for another reason.
    GivenUp,
}

impl Ended {
    /// Whether there is no answer because the client wants none.
    pub const fn is_unwanted(self) -> bool {
        matches!(self, Self::Cancelled | Self::Disconnected)
    }
}

/// A request as it arrives.
#[derive(Clone, Copy)]
pub struct Arrival<'a> {
    /// The request.
    pub request: &'a Request,
    /// The session that it belongs to.
    pub session: &'a Session,
    /// Who sent it.
    pub caller: &'a Caller,
    /// Whether it will be served; else it is refused at once.
    pub is_admitted: bool,
}

/// Sees one request from its arrival to its end.
pub trait Watch: Any + Send + Sync {
    /// A message goes out because of the request, or what passes for one; after the last one comes nothing
    /// more. Empty bytes as the last word are a connection closed without any.
    fn sent(&self, message: &[u8], is_last: bool);

    /// The work on the request is over. Called once, whatever happened.
    fn ended(&self, how: Ended);
}

/// A request over HTTP that was not let in.
#[derive(Debug, Clone, Copy)]
pub struct TurnedAway<'a> {
    /// The HTTP status that it was answered with.
    pub status: u16,
    /// Why.
    pub reason: &'a str,
    /// The request, if it was read.
    pub request: Option<&'a Request>,
    /// The JSON-RPC error that it was answered with, if it was one.
    pub refusal: Option<&'a Refusal>,
}

/// What came and is no message, and was refused as such.
#[derive(Clone, Copy)]
pub struct Malformed<'a> {
    /// The session in which it came.
    pub session: &'a Session,
    /// Who sent it.
    pub caller: &'a Caller,
    /// The bytes, as far as they were kept.
    pub frame: &'a [u8],
    /// Its id, as far as there is one; else null.
    pub id: &'a Value,
    /// Its method, as far as there is one; else empty.
    pub method: &'a str,
    /// What it was answered with.
    pub refusal: &'a Refusal,
}
