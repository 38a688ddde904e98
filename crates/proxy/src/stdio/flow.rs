//! What goes to the server and comes from it: which requests it has not answered yet, and whether it is silent.
//!
//! Where that is in doubt, an answer is still owed: waiting too long does less harm than cutting an
//! honest answer off.

use tokio::io::ReadBuf;

use super::outline::{Outline, Scanner};
use super::prelude::*;

/// What is known of a server's streams.
#[derive(Default)]
pub struct Flow {
    pending: Mutex<PendingRequests>,
    /// How often something came from it.
    reads: AtomicU64,
    /// Whether we wait for it, and not for somebody to take what it said.
    is_awaited: AtomicBool,
}

impl Flow {
    /// Whether it has not answered all that it was asked.
    pub fn owes_answers(&self) -> bool {
        lock(&self.pending).is_any()
    }

    /// Resolves once the server has said nothing for that long. Time in which nobody took what it said
    /// does not count, nor time in which it owes answers, if `minds_pending`.
    pub async fn silence(&self, wait: Duration, minds_pending: bool) {
        loop {
            let before = self.reads.load(Ordering::Relaxed);
            let owed_before = minds_pending && self.owes_answers();
            tokio::time::sleep(wait).await;
            let is_silent = before == self.reads.load(Ordering::Relaxed)
                && self.is_awaited.load(Ordering::Relaxed);
            if is_silent && !owed_before && !(minds_pending && self.owes_answers()) {
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
        let mut pending = lock(&flow.pending);
        let written = Pin::new(inner).poll_write(context, bytes);
        if let Poll::Ready(Ok(length)) = written {
            let taken = bytes.get(..length).unwrap_or_default();
            scanner.pass(taken, |outline| pending.client_says(outline));
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { scanner, flow, .. } = &mut *self;
        scanner.end(|outline| lock(&flow.pending).client_says(outline));
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
            scanner.pass(arrived, |outline| lock(&flow.pending).server_says(&outline));
        }
        read
    }
}

/// How many requests are told apart; whether further ones are answered stays in doubt.
const OPEN_MAX: usize = 100_000;
/// How many cancelled requests are remembered, in case that their ids come again.
const CANCELLED_MAX: usize = 256;

/// The requests that a server has not answered yet.
#[derive(Default)]
pub struct PendingRequests {
    /// How many requests of an id are not answered.
    open: HashMap<IdKey, u32>,
    /// The last requests that were cancelled and may be answered all the same.
    cancelled: VecDeque<IdKey>,
    is_in_doubt: bool,
}

impl PendingRequests {
    /// Whether it has not answered all that it was asked.
    pub fn is_any(&self) -> bool {
        self.is_in_doubt || !self.open.is_empty()
    }

    /// Something went to the server.
    pub fn client_says(&mut self, outline: Outline) {
        match outline {
            Outline::Request(id) => {
                if self.open.len() < OPEN_MAX || self.open.contains_key(&id) {
                    let count = self.open.entry(id).or_default();
                    *count = count.saturating_add(1);
                } else {
                    self.is_in_doubt = true;
                }
            }
            Outline::Cancellation(id) => {
                if self.settle(&id) {
                    if self.cancelled.len() >= CANCELLED_MAX {
                        self.cancelled.pop_front();
                    }
                    self.cancelled.push_back(id);
                }
            }
            Outline::Answer(_) => {}
        }
    }

    /// Something came from the server. What was never asked for is no credit.
    pub fn server_says(&mut self, outline: &Outline) {
        let Outline::Answer(id) = outline else { return };
        // One that comes although it was cancelled settles nothing else, even if its id is used again.
        match self.cancelled.iter().position(|other| other == id) {
            Some(place) => {
                self.cancelled.remove(place);
            }
            None => {
                self.settle(id);
            }
        }
    }

    fn settle(&mut self, id: &IdKey) -> bool {
        match self.open.get_mut(id) {
            Some(1) => self.open.remove(id).is_some(),
            Some(count) => {
                *count = count.saturating_sub(1);
                true
            }
            None => false,
        }
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

#[cfg(test)]
mod pending_tests {
    use super::*;

    fn id(number: usize) -> IdKey {
        IdKey::new(&number.to_string())
    }

    #[test]
    fn a_late_answer_to_what_was_cancelled_settles_nothing_else() {
        let mut pending = PendingRequests::default();
        pending.client_says(Outline::Request(id(1)));
        pending.client_says(Outline::Request(id(2)));
        pending.client_says(Outline::Cancellation(id(1)));
        pending.client_says(Outline::Cancellation(id(1)));
        pending.server_says(&Outline::Answer(id(1)));
        pending.server_says(&Outline::Answer(id(1)));
        assert!(pending.is_any());
        pending.server_says(&Outline::Answer(id(2)));
        assert!(!pending.is_any());
        // Nor does it if the id is used again.
        pending.client_says(Outline::Request(id(3)));
        pending.client_says(Outline::Cancellation(id(3)));
        assert!(!pending.is_any());
        pending.client_says(Outline::Request(id(3)));
        pending.server_says(&Outline::Answer(id(3)));
        assert!(pending.is_any());
        pending.server_says(&Outline::Answer(id(3)));
        assert!(!pending.is_any());
    }

    #[test]
    fn requests_of_the_same_id_are_each_owed() {
        let mut pending = PendingRequests::default();
        pending.client_says(Outline::Request(id(1)));
        pending.client_says(Outline::Request(id(1)));
        pending.server_says(&Outline::Answer(id(1)));
        assert!(pending.is_any());
        pending.server_says(&Outline::Answer(id(1)));
        assert!(!pending.is_any());
    }

    #[test]
    fn what_is_remembered_is_bounded_and_beyond_that_answers_are_owed() {
        let mut pending = PendingRequests::default();
        for number in 0..=OPEN_MAX {
            pending.client_says(Outline::Request(id(number)));
        }
        assert_eq!(pending.open.len(), OPEN_MAX);
        for number in 0..=OPEN_MAX {
            pending.server_says(&Outline::Answer(id(number)));
        }
        assert!(pending.open.is_empty() && pending.is_any());
        for number in 0..2 * CANCELLED_MAX {
            pending.client_says(Outline::Request(id(number)));
            pending.client_says(Outline::Cancellation(id(number)));
        }
        assert_eq!(pending.cancelled.len(), CANCELLED_MAX);
    }
}
