//! What goes to the server and comes from it: whether it owes answers, and whether it is silent.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use mcprove_servers::hosting::lock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::debts::Debts;
use super::outline::Scanner;

/// What is known of a server's streams.
#[derive(Default)]
pub struct Flow {
    debts: Mutex<Debts>,
    /// How often something came from it.
    reads: AtomicU64,
    /// Whether we wait for it, and not for somebody to take what it said.
    is_awaited: AtomicBool,
}

impl Flow {
    /// Whether it has not answered all that it was asked.
    pub fn owes_answers(&self) -> bool {
        lock(&self.debts).is_any()
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
}

/// The way to the server, or from it.
pub struct Scanned<S> {
    inner: S,
    scanner: Scanner,
    flow: Arc<Flow>,
}

impl<S> Scanned<S> {
    pub fn new(inner: S, flow: &Arc<Flow>) -> Self {
        Self {
            inner,
            scanner: Scanner::default(),
            flow: Arc::clone(flow),
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Scanned<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self {
            inner,
            scanner,
            flow,
        } = &mut *self;
        // No answer counts before what it answers.
        let mut debts = lock(&flow.debts);
        let written = Pin::new(inner).poll_write(context, bytes);
        if let Poll::Ready(Ok(length)) = written {
            let taken = bytes.get(..length).unwrap_or_default();
            scanner.pass(taken, |outline| debts.client_says(outline));
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { scanner, flow, .. } = &mut *self;
        scanner.end(|outline| lock(&flow.debts).client_says(outline));
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Scanned<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        let Self { scanner, flow, .. } = &mut *self;
        flow.is_awaited.store(read.is_pending(), Ordering::Relaxed);
        if read.is_ready() {
            flow.reads.fetch_add(1, Ordering::Relaxed);
            let arrived = buffer.filled().get(before..).unwrap_or_default();
            scanner.pass(arrived, |outline| lock(&flow.debts).server_says(&outline));
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
        let long = "x".repeat(12_000);
        for (asks, says) in [
            ("{\"id\":1,\"method\":\"ping\"}\n".to_owned(), "{\"id\":1,\"error\":{}}\n".to_owned()),
            (
                "{\"id\":2,\"method\":\"tools/call\",\"params\":{\"a\":\"docs/notifications/cancelled\"}}\n"
                    .to_owned(),
                format!("{{\"result\":\"{long}\",\"id\":2}}\n"),
            ),
            (
                format!("{{\"id\":3,\"params\":{{\"a\":\"{long}\"}},\"method\":\"tools/call\"}}"),
                "{\"id\":3,\"result\":{}}\n".to_owned(),
            ),
        ] {
            let mut to = Scanned::new(tokio::io::sink(), &flow);
            to.write_all(b"{\"method\":\"notifications/initialized\"}\n{\"id\":7,\"result\":{}}\nnonsense\n")
                .await
                .unwrap();
            assert!(!flow.owes_answers());
            let (some, more) = asks.split_at(asks.len() / 2);
            to.write_all(some.as_bytes()).await.unwrap();
            assert!(!flow.owes_answers());
            to.write_all(more.as_bytes()).await.unwrap();
            to.shutdown().await.unwrap();
            assert!(flow.owes_answers(), "{asks}");
            let others = "{\"id\":1,\"method\":\"roots/list\",\"params\":{\"result\":1}}\n{\"id\":9,\"result\":1}\n";
            let mut from = Scanned::new(others.as_bytes(), &flow);
            from.read_to_end(&mut Vec::new()).await.unwrap();
            assert!(flow.owes_answers(), "{asks}");
            let mut from = Scanned::new(says.as_bytes(), &flow);
            from.read_to_end(&mut Vec::new()).await.unwrap();
            assert!(!flow.owes_answers(), "{asks}");
        }
    }
}
