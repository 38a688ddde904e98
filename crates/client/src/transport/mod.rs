//! Moving messages: one file per transport, all behind [`Channel`].
//!
//! A channel moves whole messages and knows nothing of what they mean. What arrives is pushed
//! into an [`Inbox`], which the session implements; nothing is queued in between, so a load run
//! pays for no channel hop per message.

use mcprove_settings::message::Message;

use crate::prelude::*;

pub use crate::process::Closing;

pub mod http;
mod lines;
pub mod sse;
pub mod stdio;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;
#[cfg(feature = "ws")]
pub mod websocket;

/// The longest message of a [`Failure`].
const MESSAGE_CHARACTERS_MAX: usize = 2000;

/// Called with bytes.
pub type BytesHandler = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Starts or reaches `server`; what arrives goes to `inbox`.
pub async fn open(
    server: &Server,
    options: &SessionOptions,
    inbox: Arc<dyn Inbox>,
) -> Result<Arc<dyn Channel>, ConnectError> {
    let http_options = http::HttpOptions {
        max_frame: options.max_frame,
        max_connections: options.max_connections,
        connect_timeout: server.startup_timeout,
        ..http::HttpOptions::default()
    };
    match &server.transport {
        Transport::Stdio => Ok(stdio::LineChannel::start(server, options, inbox).await?),
        Transport::Memory(pipe) => {
            let (output, input) = pipe.open();
            let max_frame = options.max_frame;
            Ok(stdio::LineChannel::open(output, input, max_frame, inbox))
        }
        Transport::Http { url, headers } => Ok(http::HttpChannel::connect(
            url,
            headers,
            http_options,
            inbox,
        )?),
        Transport::Sse { url, headers } => {
            Ok(sse::connect(url, headers, http_options, inbox).await?)
        }
        #[cfg(feature = "ws")]
        Transport::WebSocket { url, headers } => {
            Ok(websocket::WebSocketChannel::connect(url, headers, http_options, inbox).await?)
        }
        #[cfg(not(feature = "ws"))]
        Transport::WebSocket { .. } => {
            let message = "this build of mcprove has no WebSocket; build it with the feature `ws`";
            Err(Failure::disconnected(message).into())
        }
    }
}

/// Whether a server at an address without TLS speaks only that.
pub(crate) async fn is_only_tls(server: &Server) -> bool {
    let Some((url, _)) = server.transport.address() else {
        return false;
    };
    let options = http::HttpOptions::default();
    let mut addresses = ["http", "ws"]
        .into_iter()
        .filter_map(|plain| http::address::Address::parse(url, (plain, ""), &options).ok());
    match addresses.next() {
        Some(address) => address.is_only_tls(&options).await,
        None => false,
    }
}

/// A message on its way out.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The whole message, without a delimiter. Usually JSON; nothing enforces it.
    pub bytes: &'a [u8],
    /// What the message is, which decides how an HTTP channel treats its response.
    pub kind: OutgoingKind,
    /// The JSON-RPC method, for the `Mcp-Method` header.
    pub method: &'a str,
    /// The tool, prompt or resource, for the `Mcp-Name` header.
    pub name: Option<&'a str>,
    /// `Mcp-Param-*` headers, already encoded: full name and value.
    pub parameter_headers: &'a [(String, String)],
}

/// What an outgoing message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutgoingKind {
    /// Expects an answer with this id.
    Request(u64),
    /// Expects no answer.
    Notification,
    /// Answers a request of the server.
    Reply,
    /// Bytes that need not be a message at all; whatever comes back is delivered.
    Raw,
}

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendError {
    /// The server does not read as fast as we write; wait for [`Channel::room`].
    Full,
    /// The channel is closed, for this reason.
    Closed(Failure),
}

impl SendError {
    /// Of a channel that was closed before.
    fn closed() -> Self {
        Self::Closed(Failure::disconnected(
            "the channel is closed; connect again",
        ))
    }
}

/// A way to exchange messages with one server.
pub trait Channel: Send + Sync + 'static {
    /// `stdio`, `http`, `sse`, `ws` or `memory`.
    fn name(&self) -> &'static str;

    /// Takes a message for sending, without waiting for the wire.
    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError>;

    /// Resolves when [`SendError::Full`] is worth another try, or the channel closed.
    fn room(&self) -> BoxFuture<'_, ()>;

    /// Gives up the stream on which request `id` would be answered. Returns whether the
    /// transport has such a stream, so that closing it is the cancellation.
    fn abandon(&self, _id: u64) -> bool {
        false
    }

    /// The revision that is in force from now on; decides headers and session handling.
    /// `None` puts the channel back before the handshake and forgets the session.
    fn set_revision(&self, _revision: Option<Revision>) {}

    /// Opens the stream for messages that belong to no request, where the transport has one.
    /// Resolves when the server has accepted or refused it, or taken too long over it.
    fn listen(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The id of the server's process, where this channel started it.
    fn process(&self) -> Option<u32> {
        None
    }

    /// Ends the server process at once, where this channel started it.
    fn kill(&self) {}

    /// The processes that the server left behind when it exited by itself, where this channel
    /// started it; complete once [`close`](Self::close) returned. They are gone by then.
    fn leftovers(&self) -> Vec<u32> {
        Vec::new()
    }

    /// The last of what the server wrote to stderr, where this channel reads it.
    fn stderr_tail(&self) -> String {
        String::new()
    }

    /// The injected fault that struck request `id`, as far as is remembered.
    fn met_fault(&self, _id: u64) -> Option<Strike> {
        None
    }

    /// Lets go of the connection the way a client does that crashed: both directions at once,
    /// nothing said, nothing waited for. A process of ours lives on until [`close`](Self::close),
    /// which then tells how it took that.
    fn sever(&self);

    /// Ends the connection in an orderly way: closes stdin and waits, or deletes the session.
    fn close(&self) -> BoxFuture<'_, Closing>;
}

/// Where a channel delivers what arrives.
pub trait Inbox: Send + Sync + 'static {
    /// A whole message or batch, without its delimiter.
    fn deliver(&self, frame: Bytes);

    /// What stands behind this inbox, to deliver several messages to; `None` when nothing does, or
    /// it is this inbox itself.
    fn held(&self) -> Option<Arc<dyn Inbox>> {
        None
    }

    /// Whether request `id` still waits for its answer.
    fn is_waiting(&self, id: u64) -> bool;

    /// A request failed on the way (`Some`), or something arrived that is no message and
    /// belongs to no request that the channel knows (`None`).
    fn fail(&self, request: Option<u64>, failure: Failure);

    /// From now on, until told otherwise, what arrives was made up by an injected fault: what is wrong
    /// with it is no violation of the server's.
    fn set_injecting(&self, _is_injecting: bool) {}

    /// What an HTTP server made of a [`OutgoingKind::Raw`] message: the body that it answered
    /// with, or how it refused. What arrives on a stream is delivered like everything else.
    fn answer_raw(&self, answer: Result<Bytes, Failure>) {
        match answer {
            Ok(body) => self.deliver(body),
            Err(failure) => self.fail(None, failure),
        }
    }

    /// The channel closed; nothing more will arrive. Called at most once.
    fn closed(&self, failure: Failure);
}

/// What stands around the channels of sessions: it sees what is sent and what arrives, and may change it.
pub trait ChannelLayer: Send + Sync {
    /// Prepares one connection, on which what arrives is for `inbox`.
    fn connection(
        &self,
        inbox: Arc<dyn Inbox>,
        session: u32,
        recorder: &Arc<Recorder>,
        max_frame: usize,
    ) -> Box<dyn LayeredConnection>;
}

/// One connection in a [`ChannelLayer`].
pub trait LayeredConnection: Send {
    /// What the channel delivers to.
    fn inbox(&self) -> Arc<dyn Inbox>;

    fn around(self: Box<Self>, channel: Arc<dyn Channel>) -> Arc<dyn Channel>;
}

/// Why a request, or a whole channel, failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The one category this failure counts in.
    pub category: ErrorCategory,
    /// What happened, for people.
    pub message: String,
    /// What else is known of it.
    pub detail: Detail,
}

/// What else is known of a [`Failure`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    None,
    /// Nothing listens at the address.
    Refused,
    /// The HTTP status that was answered.
    Status(u16),
    /// The server does not let us in, or not under the name that it was called by.
    Denied(Denial),
    /// The server points elsewhere.
    Redirect(String),
    /// TLS was begun, and what listens speaks no TLS.
    NoTls,
    /// What listens speaks TLS, and was contacted without it.
    OnlyTls,
    /// The server no longer knows our session (404): a new one must be initialized.
    SessionExpired,
    /// A frame that was not read to its end, being over the limit or broken: its size as far as it
    /// was read, and its first bytes.
    Oversized {
        /// Bytes read of the frame.
        size: u64,
        /// The first bytes of it, to find the id in.
        head: Bytes,
    },
    /// This process ran out of something; the server has no part in it.
    OwnLimit(OwnLimit),
    /// The server process ended, with this status where it was not killed.
    Exit(Option<i32>),
    /// The JSON-RPC error that the server answered with, whatever id it had.
    Error(Box<RpcError>),
    /// It was waited for as long as a call is while others are answered.
    Queued,
    /// Many calls of the same tool were answered that were sent after it was hung: its reply is lost.
    Overtaken,
    /// The server closed a connection that had carried answers before, without a byte of this one. It may have closed
    /// it before the request arrived, as servers of HTTP do with connections that they no longer want to keep.
    KeptConnection,
}

/// Why a server does not let us in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// It asks for a token (401), or does not say for what.
    Token,
    /// It asks for something else than a token, by its `WWW-Authenticate`.
    Scheme,
    /// It does not accept the name in the header `Host`.
    Host,
    /// We may not (403).
    Access,
}

/// What to try is what its category says.
impl UserError for Failure {
    fn hint(&self) -> Message {
        match &self.detail {
            Detail::OwnLimit(limit) => limit.hint(),
            _ => self.category.hint(),
        }
    }
}

impl From<FailedAnswer> for Failure {
    fn from(answer: FailedAnswer) -> Self {
        Self::new(answer.category, answer.message)
    }
}

impl Failure {
    /// A failure of `category` with nothing else known.
    pub fn new(category: ErrorCategory, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            category,
            // What a peer makes us quote must not grow without limit.
            message: if message.len() > MESSAGE_CHARACTERS_MAX {
                shorten(&message, MESSAGE_CHARACTERS_MAX)
            } else {
                message
            },
            detail: Detail::None,
        }
    }

    /// A connection that ended, or could not be made.
    pub fn disconnected(message: impl Into<String>) -> Self {
        Self::new(ErrorCategory::Disconnected, message)
    }

    /// Something that arrived and cannot be read.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(ErrorCategory::Malformed, message)
    }

    /// A message that is larger than the limit: how much of it was read, and its first bytes.
    pub fn oversized(size: u64, limit: usize, head: Bytes) -> Self {
        let message = format!("a message of {size} bytes or more, over the limit of {limit} bytes");
        Self::malformed(message).with(Detail::Oversized { size, head })
    }

    /// Something that did not come in time.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(ErrorCategory::Timeout, message)
    }

    /// Something that we gave up.
    pub fn cancelled(message: impl Into<String>) -> Self {
        Self::new(ErrorCategory::Cancelled, message)
    }

    /// Whether a message was larger than the limit, or broke off.
    pub const fn is_oversized(&self) -> bool {
        matches!(self.detail, Detail::Oversized { .. })
    }

    /// As events have it.
    pub fn as_event(&self) -> CallFailure<'_> {
        CallFailure {
            category: self.category,
            message: &self.message,
            code: None,
            server_message: "",
            answer: "",
        }
    }

    /// Whether the server refused something by a rate limit or a quota.
    pub fn is_rate_limited(&self) -> bool {
        self.as_event().is_rate_limited()
    }

    /// What this process ran out of, if it is that.
    pub const fn own_limit(&self) -> Option<OwnLimit> {
        match self.detail {
            Detail::OwnLimit(limit) => Some(limit),
            _ => None,
        }
    }

    /// The same failure, of this process where `limit` says that it ran out of something.
    pub(crate) fn of_limit(self, limit: Option<OwnLimit>) -> Self {
        match limit {
            Some(limit) => {
                Self::new(self.category, format!("{limit}: {self}")).with(Detail::OwnLimit(limit))
            }
            None => self,
        }
    }

    /// The same failure with `detail`.
    pub fn with(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }
}
