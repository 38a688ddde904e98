//! A call that met a fault, whatever carries it: what is remembered and written down of it is the same.
//!
//! A [`FaultTransport`] is the way of a call to the server, and of what is said in its place to the client.

use mcprove_fault::{FaultedCall, status_reply};
use mcprove_servers::hosting::exchange::{SMALL_ANSWER_BYTES, kept_with};

use crate::prelude::*;

/// What is told where too much is held.
const CROWDED: &str = "too many bytes of answers waited to be read: some were replaced by errors";

/// The way of calls to the server, and of what is said in their place to the client.
pub trait FaultTransport: Send + Sync + Sized + 'static {
    /// Has the call executed and waits for its reply; `None` if none comes.
    fn execute(&self, call: &PendingCall) -> impl Future<Output = Option<Bytes>> + Send;

    /// Says something before the last word.
    fn send(&self, message: Bytes) -> impl Future<Output = ()> + Send;

    /// Says the last word.
    fn reply(&self, message: Bytes) -> impl Future<Output = ()> + Send {
        self.send(message)
    }

    /// Says the beginning of a message as the last word.
    fn reply_cut(&self, beginning: Bytes) -> impl Future<Output = ()> + Send {
        self.send(beginning)
    }

    /// Closes the connection to the client.
    fn disconnect(&self) -> impl Future<Output = ()> + Send;

    /// Ends the server.
    fn crash(&self) -> impl Future<Output = ()> + Send;

    /// Answers with an HTTP status; `false` where there is none.
    fn refuse(
        &self,
        _call: &PendingCall,
        _status: u16,
        _retry_after_s: u64,
    ) -> impl Future<Output = bool> + Send {
        std::future::ready(false)
    }

    /// The fault has done what it does, perhaps without a last word.
    fn finish(&self, _call: &PendingCall) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// It is over, whether it ended by itself or was cancelled. Unless it was answered, it ends as everything does.
    fn over(&self, _call: &PendingCall) {}
}

/// Lets a fault act on a call, in a task of its own.
pub fn strike(injection: Injection, call: &Arc<PendingCall>, transport: impl FaultTransport) {
    let faulted = Faulted {
        call: Arc::clone(call),
        transport,
    };
    call.watch.faulted.strike(call, async move {
        injection.apply(&faulted).await;
        faulted.transport.finish(&faulted.call).await;
    });
}

/// A call, and its transport.
struct Faulted<T: FaultTransport> {
    call: Arc<PendingCall>,
    transport: T,
}

impl<T: FaultTransport> Drop for Faulted<T> {
    fn drop(&mut self) {
        self.call.watch.faulted.finish(&self.call);
        self.transport.over(&self.call);
    }
}

impl<T: FaultTransport> Faulted<T> {
    /// A reply that is charged until it is dropped; an error in its place when too much is held.
    fn charged(&self, reply: Bytes) -> Bytes {
        if reply.len() <= SMALL_ANSWER_BYTES {
            return reply;
        }
        let watch = &self.call.watch;
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

impl<T: FaultTransport> FaultedCall for Faulted<T> {
    fn id(&self) -> &str {
        &self.call.id
    }

    fn tool(&self) -> &str {
        &self.call.tool
    }

    fn progress_token(&self) -> Option<&Value> {
        self.call.progress_token.as_ref()
    }

    fn is_stateless(&self) -> bool {
        self.call.is_stateless
    }

    fn execute(&self) -> BoxFuture<'_, Option<Bytes>> {
        self.call.is_forwarded.store(true, Ordering::Relaxed);
        Box::pin(async move {
            let reply = self.transport.execute(&self.call).await?;
            if let Some(recorded) = &self.call.recorded {
                recorded.answered_behind(&reply);
            }
            Some(self.charged(reply))
        })
    }

    fn reply(&self, message: Bytes) -> BoxFuture<'_, ()> {
        let message = self.charged(message);
        self.call.answer(&message);
        Box::pin(self.transport.reply(message))
    }

    fn send(&self, message: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(self.transport.send(message))
    }

    fn reply_cut(&self, beginning: Bytes) -> BoxFuture<'_, ()> {
        self.call.answer(&beginning);
        Box::pin(self.transport.reply_cut(beginning))
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        let message = "the connection was closed by a fault";
        self.call.fail(ErrorCategory::Disconnected, message);
        Box::pin(self.transport.disconnect())
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        let message = "the server was ended by a fault";
        self.call.fail(ErrorCategory::Crash, message);
        Box::pin(self.transport.crash())
    }

    fn refuse(&self, status: u16, retry_after_s: u64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Self { call, transport } = self;
            if !transport.refuse(call, status, retry_after_s).await {
                self.reply(status_reply(self, status, retry_after_s)).await;
            }
        })
    }

    fn ignore_cancellation(&self) {
        let ignores = &self.call.ignores_cancellation;
        ignores.store(true, Ordering::Relaxed);
    }
}
