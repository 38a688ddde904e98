//! Moving messages: one file per transport, all behind [`Channel`].
//!
//! A channel moves whole messages and knows nothing of what they mean. What arrives is pushed
//! into an [`Inbox`], which the session implements; nothing is queued in between, so a load run
//! pays for no channel hop per message.

use std::future::Future;
use std::pin::Pin;
use std::process::ExitStatus;

use bytes::Bytes;
use mcprove_score::trace::ErrorCategory;

use crate::protocol::Revision;

pub mod http;
pub mod memory;
pub mod sse;
pub mod stdio;
pub mod websocket;

/// The largest message accepted, unless set otherwise.
pub const MAX_FRAME: usize = 64 * 1024 * 1024;

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

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
    fn abandon(&self, id: u64) -> bool {
        let _ = id;
        false
    }

    /// The revision that is in force from now on; decides headers and session handling.
    /// `None` puts the channel back before the handshake and forgets the session.
    fn speak(&self, revision: Option<Revision>) {
        let _ = revision;
    }

    /// Opens the stream for messages that belong to no request, where the transport has one.
    fn listen(&self) {}

    /// The id of the server's process, where this channel started it.
    fn process(&self) -> Option<u32> {
        None
    }

    /// The last of what the server wrote to stderr, where this channel reads it.
    fn stderr_tail(&self) -> String {
        String::new()
    }

    /// Ends the connection in an orderly way: closes stdin and waits, or deletes the session.
    fn close(&self) -> BoxFuture<'_, Closing>;
}

/// How a channel ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Closing {
    /// The exit status of the server process, where there was one.
    pub exit: Option<ExitStatus>,
    /// Whether the process had to be told (TERM) or forced (KILL) after its input closed.
    pub forced: bool,
}

/// Where a channel delivers what arrives.
pub trait Inbox: Send + Sync + 'static {
    /// A whole message or batch, without its delimiter.
    fn deliver(&self, frame: Bytes);

    /// Whether request `id` still waits for its answer.
    fn is_waiting(&self, id: u64) -> bool;

    /// A request failed on the way (`Some`), or something arrived that is no message and
    /// belongs to no request that the channel knows (`None`).
    fn fail(&self, request: Option<u64>, failure: Failure);

    /// The channel closed; nothing more will arrive. Called at most once.
    fn closed(&self, failure: Failure);
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
    /// The HTTP status that was answered.
    Status(u16),
    /// The server no longer knows our session (404): a new one must be initialized.
    SessionExpired,
    /// A frame over the limit: its size as far as it was read, and its first bytes.
    Oversized {
        /// Bytes read of the frame.
        size: u64,
        /// The first bytes of it, to find the id in.
        head: Bytes,
    },
    /// The JSON-RPC error code.
    Code(i64),
}

impl Failure {
    /// A failure of `category` with nothing else known.
    pub fn new(category: ErrorCategory, message: impl Into<String>) -> Self {
        Self {
            category,
            message: message.into(),
            detail: Detail::None,
        }
    }

    /// The same failure with `detail`.
    #[must_use]
    pub fn with(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }
}
