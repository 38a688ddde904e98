//! What goes to the server and comes from it: whether it owes answers, and whether it is silent.
//!
//! The beginning of each line tells whether it asks or answers, so that bytes need not be read where
//! nobody looks. Where that is in doubt, an answer is still owed: waiting too long does less harm than
//! cutting an honest answer off.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use memchr::memmem::Finder;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much of a line is looked at.
const HEAD_BYTES: usize = 4096;

static METHOD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"method\""));
static RESULT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"result\""));
static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"error\""));
static NOTIFICATION: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("notifications/"));
static CANCELLED: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new("notifications/cancelled"));

/// What is known of a server's streams.
#[derive(Default)]
pub(super) struct Flow {
    /// Requests that went to it and that it has not answered.
    owed: AtomicU64,
    /// How often something came from it.
    reads: AtomicU64,
    /// Whether we wait for it, and not for somebody to take what it said.
    is_awaited: AtomicBool,
}

impl Flow {
    /// Whether it has not answered all that it was asked.
    pub fn owes_answers(&self) -> bool {
        self.owed.load(Ordering::Relaxed) > 0
    }

    /// Resolves once the server has said nothing for that long. Time in which nobody took what it said
    /// does not count, nor time in which it owes answers, if `minds_debts`.
    pub async fn silence(&self, wait: Duration, minds_debts: bool) {
        loop {
            let before = self.reads.load(Ordering::Relaxed);
            let owed_before = minds_debts && self.owes_answers();
            tokio::time::sleep(wait).await;
            let is_silent = before == self.reads.load(Ordering::Relaxed)
                && self.is_awaited.load(Ordering::Relaxed);
            if is_silent && !owed_before && !(minds_debts && self.owes_answers()) {
                return;
            }
        }
    }

    fn asked(&self, head: &[u8]) {
        if METHOD.find(head).is_none() {
            return;
        }
        if NOTIFICATION.find(head).is_none() {
            self.owed.fetch_add(1, Ordering::Relaxed);
        } else if CANCELLED.find(head).is_some() {
            self.settled();
        }
    }

    fn answered(&self, head: &[u8]) {
        let has_end = RESULT.find(head).is_some() || ERROR.find(head).is_some();
        if has_end && METHOD.find(head).is_none() {
            self.settled();
        }
    }

    fn settled(&self) {
        // What was never asked for is no credit.
        let _ = self
            .owed
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |owed| {
                owed.checked_sub(1)
            });
    }
}

/// The beginning of the line that is passing.
#[derive(Default)]
struct Head(Vec<u8>);

impl Head {
    /// Calls `seen` with the beginning of each line that ends in `bytes`.
    fn pass(&mut self, bytes: &[u8], mut seen: impl FnMut(&[u8])) {
        let mut rest = bytes;
        while let Some(newline) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(newline);
            if self.0.is_empty() {
                seen(line.get(..HEAD_BYTES).unwrap_or(line));
            } else {
                self.add(line);
                seen(&self.0);
                self.0.clear();
            }
            rest = after.get(1..).unwrap_or_default();
        }
        self.add(rest);
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = HEAD_BYTES.saturating_sub(self.0.len());
        self.0.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    /// The stream is over, perhaps within a line.
    fn end(&mut self, seen: impl FnOnce(&[u8])) {
        if !self.0.is_empty() {
            seen(&self.0);
            self.0.clear();
        }
    }
}

/// The way to the server.
pub(super) struct ToServer<W> {
    inner: W,
    head: Head,
    flow: Arc<Flow>,
}

/// The way from the server.
pub(super) struct FromServer<R> {
    inner: R,
    head: Head,
    flow: Arc<Flow>,
}

impl<W> ToServer<W> {
    pub fn new(inner: W, flow: &Arc<Flow>) -> Self {
        Self {
            inner,
            head: Head::default(),
            flow: Arc::clone(flow),
        }
    }
}

impl<R> FromServer<R> {
    pub fn new(inner: R, flow: &Arc<Flow>) -> Self {
        Self {
            inner,
            head: Head::default(),
            flow: Arc::clone(flow),
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for ToServer<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        if let Poll::Ready(Ok(length)) = written {
            let Self { head, flow, .. } = &mut *self;
            let taken = bytes.get(..length).unwrap_or_default();
            head.pass(taken, |line| flow.asked(line));
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { head, flow, .. } = &mut *self;
        head.end(|line| flow.asked(line));
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for FromServer<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        let Self { head, flow, .. } = &mut *self;
        flow.is_awaited.store(read.is_pending(), Ordering::Relaxed);
        if read.is_ready() {
            flow.reads.fetch_add(1, Ordering::Relaxed);
            let arrived = buffer.filled().get(before..).unwrap_or_default();
            head.pass(arrived, |line| flow.answered(line));
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn answers_are_owed_until_they_come() {
        let flow = Arc::new(Flow::default());
        let mut to = ToServer::new(tokio::io::sink(), &flow);
        let long = "x".repeat(3 * HEAD_BYTES);
        for (asks, owed) in [
            ("{\"id\":1,\"met".to_owned(), 0),
            ("hod\":\"tools/call\"}\n".to_owned(), 1),
            (
                format!("{{\"method\":\"ping\",\"id\":2,\"x\":\"{long}\"}}\n\n"),
                2,
            ),
            ("{\"method\":\"notifications/initialized\"}\n".to_owned(), 2),
            ("{\"id\":7,\"result\":{}}\nnonsense\n".to_owned(), 2),
            ("{\"method\":\"notifications/cancelled\"}\n".to_owned(), 1),
            ("{\"id\":3,\"method\":\"ping\"}".to_owned(), 1),
        ] {
            to.write_all(asks.as_bytes()).await.unwrap();
            assert_eq!(flow.owed.load(Ordering::Relaxed), owed, "{asks}");
        }
        to.shutdown().await.unwrap();
        assert_eq!(flow.owed.load(Ordering::Relaxed), 2);
        let said = format!(
            "{{\"id\":1,\"method\":\"roots/list\",\"params\":{{\"result\":1}}}}\n{{\"result\":\"{long}\",\"id\":1}}\n{{\"id\":3,\"error\":{{}}}}\n{{\"id\":4,\"error\":{{}}}}\n"
        );
        let mut from = FromServer::new(said.as_bytes(), &flow);
        from.read_to_end(&mut Vec::new()).await.unwrap();
        assert!(!flow.owes_answers());
    }
}
