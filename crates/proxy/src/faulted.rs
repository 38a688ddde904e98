//! A call that met a fault, whatever carries it: what is remembered and written down of it is the same.
//!
//! A [`Carrier`] is the way of a call to the server, and of what is said in its place to the client.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use mcprove_fault::{FaultedCall, Injection, status_reply};
use mcprove_recording::RecordedRequest;
use mcprove_servers::hosting::exchange::{SMALL_ANSWER_BYTES, kept_with};
use mcprove_trace::{BoxFuture, ErrorCategory, Special};
use serde_json::Value;

use super::journal::Page;
use super::message::HeldCall;
use super::struck::{CallState, Struck, StruckCalls, needed};
use super::watch::Watch;

/// What is told where too much is held.
const CROWDED: &str = "too many bytes of answers waited to be read: some were replaced by errors";

/// A call that a fault is about to act on.
pub(super) struct StruckCall {
    pub call: HeldCall,
    /// The message as it came.
    pub message: Bytes,
    pub injection: Injection,
    pub page: Page,
    pub recorded: Option<RecordedRequest>,
}

/// A call that a fault acts on.
pub(super) struct Held<K> {
    pub watch: Arc<Watch>,
    pub call: HeldCall,
    /// The message as it came; empty where it never goes on.
    pub message: Bytes,
    /// What names it, and its number among those of that name.
    pub key: K,
    pub serial: u64,
    /// Whether nothing of the answer may be heard.
    pub is_lost: bool,
    page: Page,
    recorded: Option<RecordedRequest>,
    state: Arc<CallState>,
}

/// The way of calls to the server, and of what is said in their place to the client.
pub(super) trait Carrier: Send + Sync + Sized + 'static {
    /// What names a call.
    type Key: Clone + Eq + Hash + Send + Sync + 'static;

    /// The calls that faults act on.
    fn calls(&self) -> &StruckCalls<Self::Key>;

    /// Has the call executed and waits for its reply; `None` if none comes.
    fn execute(&self, held: &Held<Self::Key>) -> impl Future<Output = Option<Bytes>> + Send;

    /// Says the last word.
    fn reply(&self, message: Bytes) -> impl Future<Output = ()> + Send;

    /// Says something before the last word.
    fn send(&self, message: Bytes) -> impl Future<Output = ()> + Send;

    /// Says the beginning of a message as the last word.
    fn reply_cut(&self, beginning: Bytes) -> impl Future<Output = ()> + Send;

    /// Closes the connection to the client.
    fn disconnect(&self) -> impl Future<Output = ()> + Send;

    /// Ends the server.
    fn crash(&self) -> impl Future<Output = ()> + Send;

    /// Answers with an HTTP status; `false` where there is none.
    fn refuse(
        &self,
        held: &Held<Self::Key>,
        status: u16,
        retry_after_s: u64,
    ) -> impl Future<Output = bool> + Send;

    /// The fault has done what it does, perhaps without a last word.
    fn finish(&self, held: &Held<Self::Key>) -> impl Future<Output = ()> + Send;

    /// It is over, whether it ended by itself or was cancelled; `open` has no end in the recording yet.
    fn over(&self, held: &Held<Self::Key>, open: Option<RecordedRequest>);
}

/// Lets a fault act on a call, in a task of its own; gives the number of the call.
pub(super) fn strike<C: Carrier>(
    calls: &StruckCalls<C::Key>,
    watch: &Arc<Watch>,
    key: C::Key,
    struck: StruckCall,
    carrier: C,
) -> u64 {
    let StruckCall {
        call,
        message,
        injection,
        page,
        recorded,
    } = struck;
    let kind = injection.fault().kind;
    let message = needed(kind, message);
    let state = Arc::new(CallState::default());
    if injection.ignores_cancellation() {
        // Before it acts for the first time, for a cancellation may be here already.
        state.ignore_cancellation();
    }
    let struck = Struck {
        state: Arc::clone(&state),
        page,
        recorded: recorded.clone(),
        due: injection.delay().map(|delay| Instant::now() + delay),
        bytes: message.len(),
        is_heard: !kind.is_silent(),
    };
    calls.strike(&key.clone(), struck, |serial| {
        let held = Held {
            watch: Arc::clone(watch),
            call,
            message,
            key,
            serial,
            is_lost: kind.special() == Special::LosesReply,
            page,
            recorded,
            state,
        };
        let faulted = Faulted { held, carrier };
        Box::pin(async move {
            injection.apply(&faulted).await;
            faulted.carrier.finish(&faulted.held).await;
        })
    })
}

impl<K> Held<K> {
    /// The client has the last word on it.
    pub fn ended(&self) {
        self.watch.journal.ended(self.page);
    }

    /// It ends without an answer to it, unless it has ended.
    pub fn fail(&self, category: ErrorCategory, message: &str) {
        self.ended();
        if let Some(recorded) = self.recorded.as_ref().filter(|open| !open.has_ended()) {
            recorded.fail(category, message);
        }
    }

    fn answer(&self, message: &[u8]) {
        if let Some(recorded) = &self.recorded {
            recorded.answer_to(&self.call.id, message);
        }
        self.ended();
    }
}

/// A call, and its carrier.
struct Faulted<C: Carrier> {
    held: Held<C::Key>,
    carrier: C,
}

impl<C: Carrier> Drop for Faulted<C> {
    fn drop(&mut self) {
        let Self { held, carrier } = self;
        carrier.calls().finish(&held.key, held.serial);
        let open = held.recorded.take().filter(|open| !open.has_ended());
        carrier.over(held, open);
    }
}

impl<C: Carrier> Faulted<C> {
    /// A reply that is charged until it is dropped; an error in its place when too much is held.
    fn charged(&self, reply: Bytes) -> Bytes {
        if reply.len() <= SMALL_ANSWER_BYTES {
            return reply;
        }
        let watch = &self.held.watch;
        if let Some(charge) = watch.replies.charge(reply.len()) {
            return kept_with(reply, charge);
        }
        watch.journal.remark(CROWDED);
        let id = self.id();
        let error =
            r#""error":{"code":-32000,"message":"Too many bytes of answers wait to be read"}"#;
        Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{id},{error}}}"#))
    }
}

impl<C: Carrier> FaultedCall for Faulted<C> {
    fn id(&self) -> &str {
        &self.held.call.id
    }

    fn tool(&self) -> &str {
        &self.held.call.tool
    }

    fn progress_token(&self) -> Option<&Value> {
        self.held.call.progress_token.as_ref()
    }

    fn is_stateless(&self) -> bool {
        self.held.call.is_stateless
    }

    fn execute(&self) -> BoxFuture<'_, Option<Bytes>> {
        self.held.state.forward();
        Box::pin(async move {
            let reply = self.carrier.execute(&self.held).await?;
            if let Some(recorded) = &self.held.recorded {
                recorded.answered_behind(&reply);
            }
            Some(self.charged(reply))
        })
    }

    fn reply(&self, message: Bytes) -> BoxFuture<'_, ()> {
        let message = self.charged(message);
        self.held.answer(&message);
        Box::pin(self.carrier.reply(message))
    }

    fn send(&self, message: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(self.carrier.send(message))
    }

    fn reply_cut(&self, beginning: Bytes) -> BoxFuture<'_, ()> {
        self.held.answer(&beginning);
        Box::pin(self.carrier.reply_cut(beginning))
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        let message = "the connection was closed by a fault";
        self.held.fail(ErrorCategory::Disconnected, message);
        Box::pin(self.carrier.disconnect())
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        let message = "the server was ended by a fault";
        self.held.fail(ErrorCategory::Crash, message);
        Box::pin(self.carrier.crash())
    }

    fn refuse(&self, status: u16, retry_after_s: u64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Self { held, carrier } = self;
            if !carrier.refuse(held, status, retry_after_s).await {
                self.reply(status_reply(self, status, retry_after_s)).await;
            }
        })
    }

    fn ignore_cancellation(&self) {
        self.held.state.ignore_cancellation();
    }
}
