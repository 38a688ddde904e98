//! A channel to a server in the same process: lines over a pair of byte streams. Also fits a Unix
//! socket or TCP connection that carries lines.

use std::sync::{Arc, Mutex, PoisonError};

use mcprove_trace::{BoxFuture, ErrorCategory};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;

use super::lines::{Outbox, read_lines};
use super::{Channel, Closing, Failure, Inbox, Outgoing, SendError};

/// A channel over any pair of byte streams.
pub struct MemoryChannel {
    outbox: Arc<Outbox>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl MemoryChannel {
    /// Reads answers from `input` and writes messages to `output`.
    pub fn open(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        max_frame: usize,
        inbox: Arc<dyn Inbox>,
    ) -> Arc<Self> {
        let outbox = Outbox::new();
        let writer = tokio::spawn(Arc::clone(&outbox).write_to(output));
        let reader = tokio::spawn({
            let outbox = Arc::clone(&outbox);
            async move {
                let unfinished = read_lines(input, max_frame, inbox.as_ref()).await;
                let failure = Failure::new(
                    ErrorCategory::Disconnected,
                    "the server closed the connection",
                );
                outbox.close(failure.clone());
                if let Some(unfinished) = unfinished {
                    inbox.fail(None, unfinished);
                }
                inbox.closed(failure);
            }
        });
        Arc::new(Self {
            outbox,
            tasks: Mutex::new(vec![writer, reader]),
        })
    }
}

impl Channel for MemoryChannel {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn send(&self, message: Outgoing<'_>) -> Result<(), SendError> {
        self.outbox.push(message.bytes)
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.outbox.room())
    }

    fn sever(&self) {
        self.outbox.close(Failure::new(
            ErrorCategory::Cancelled,
            "the connection was dropped",
        ));
        for task in self
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
        {
            task.abort();
        }
    }

    fn close(&self) -> BoxFuture<'_, Closing> {
        self.outbox.close(Failure::new(
            ErrorCategory::Cancelled,
            "the session was closed",
        ));
        Box::pin(std::future::ready(Closing::default()))
    }
}

impl Drop for MemoryChannel {
    fn drop(&mut self) {
        self.sever();
    }
}
