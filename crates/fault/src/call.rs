//! A call that met a fault, as the effect of the fault sees it: the same for a mock, a proxy and a
//! load. Whoever carries calls implements [`FaultedCall`]; a kind of fault is a few lines that use it.

use bytes::Bytes;
use mcprove_trace::BoxFuture;
use serde_json::Value;

/// One `tools/call` that met a fault, and the ways to answer it, wrong ones included.
///
/// Messages are whole JSON texts without a delimiter; whoever carries them adds what the transport wants.
/// When the client cancels the call or leaves, the effect is dropped where it waits, unless it said
/// [`FaultedCall::ignore_cancellation`].
pub trait FaultedCall: Send + Sync {
    /// The id of the request, as JSON.
    fn id(&self) -> &str;

    /// The tool that is called.
    fn tool(&self) -> &str;

    /// The token under which the client wants progress, if it wants any.
    fn progress_token(&self) -> Option<&Value>;

    /// Whether the request is of the stateless era, whose results say of which type they are.
    fn is_stateless(&self) -> bool;

    /// Has the call executed and waits for its reply, the whole message with the id of the request. What
    /// the server says before its reply goes to the client meanwhile. `None` if no reply comes.
    fn execute(&self) -> BoxFuture<'_, Option<Bytes>>;

    /// Sends the last word on this call, whatever these bytes are.
    fn reply(&self, message: Bytes) -> BoxFuture<'_, ()>;

    /// Sends something before the last word, as a message of its own, whatever these bytes are.
    fn send(&self, message: Bytes) -> BoxFuture<'_, ()>;

    /// Sends the beginning of a message as the last word. Where a frame has a length, the connection
    /// is closed in the middle of it; over stdio the line ends early, and the connection lives.
    fn reply_cut(&self, beginning: Bytes) -> BoxFuture<'_, ()>;

    /// Closes the connection without a word; over stdio, the server's output.
    fn disconnect(&self) -> BoxFuture<'_, ()>;

    /// Ends the server's process with a status other than 0, as far as it is ours to end.
    fn crash(&self) -> BoxFuture<'_, ()>;

    /// Answers with an HTTP status; where there is none, with a JSON-RPC error that tells it.
    fn refuse(&self, status: u16, retry_after_s: u64) -> BoxFuture<'_, ()>;

    /// From now on the call goes on though the client cancels it.
    fn ignore_cancellation(&self);
}
