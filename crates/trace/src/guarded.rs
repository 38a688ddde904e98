//! A connection to a peer that may never read, or never finish what it says.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use crate::budget::{Budget, Charge};
use crate::prelude::*;

/// How long a peer may read nothing of what is written to it before its connection is closed. The buffers of the
/// system are full by then.
pub const UNREAD_TIME_MAX: Duration = Duration::from_mins(1);
/// How many bytes of answers to pings may wait for a peer that does not read them.
pub const PONG_BYTES_MAX: usize = 1024 * 1024;
/// What a frame adds to what it carries, at most.
const FRAME_HEAD_BYTES: usize = 14;
/// What a ping or pong of a client has before what it carries.
const CONTROL_HEAD_BYTES: usize = 6;

/// A connection with limits. What is over them is an error of reading or writing, which ends it.
pub struct Guarded<S> {
    stream: S,
    unread_time_max: Option<Duration>,
    /// Ends when the peer has read nothing for too long; there is one while a write waits.
    deadline: Option<Pin<Box<Sleep>>>,
    pongs: Pongs,
    received: Option<Received>,
}

/// The answers to pings that a WebSocket has not written yet.
#[derive(Debug, Clone, Default)]
pub struct Pongs(Arc<AtomicUsize>);

/// The bytes of a message that has not arrived whole.
#[derive(Debug, Clone)]
pub struct Received(Arc<Mutex<Charge>>);

impl Pongs {
    /// Notes that this ping will be answered; `false` if too many answers wait already.
    pub fn owe(&self, ping: &[u8]) -> bool {
        let bytes = ping.len() + FRAME_HEAD_BYTES;
        self.0.fetch_add(bytes, Ordering::AcqRel) + bytes <= PONG_BYTES_MAX
    }
}

impl Received {
    /// A message is whole: the next one begins.
    pub fn clear(&self) {
        lock(&self.0).clear();
    }

    /// A ping or pong was among what arrived, perhaps in the middle of a message.
    pub fn pass(&self, control: &[u8]) {
        lock(&self.0).release(control.len() + CONTROL_HEAD_BYTES);
    }

    /// How many bytes have arrived of a message that is not whole.
    pub fn bytes(&self) -> usize {
        lock(&self.0).bytes()
    }
}

impl<S> Guarded<S> {
    /// A connection on which nothing is limited yet.
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            unread_time_max: None,
            deadline: None,
            pongs: Pongs::default(),
            received: None,
        }
    }

    /// Ends the connection when its peer reads nothing for so long while something waits for it.
    pub fn unread_at_most(mut self, time: Duration) -> Self {
        self.unread_time_max = Some(time);
        self
    }

    /// Ends the connection when what arrives between two messages is more than the budget leaves.
    pub fn within(mut self, budget: &Budget) -> (Self, Received) {
        let received = Received(Arc::new(Mutex::new(budget.open())));
        self.received = Some(received.clone());
        (self, received)
    }

    /// The answers to pings that wait; whoever reads pings has to note them.
    pub fn pongs(&self) -> Pongs {
        self.pongs.clone()
    }

    /// What a write came to, unless it waits for too long.
    fn in_time<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        let Some(max) = self.unread_time_max.filter(|_| written.is_pending()) else {
            self.deadline = None;
            return written;
        };
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(max)));
        ready!(deadline.as_mut().poll(context));
        let seconds = max.as_secs();
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("the peer has read nothing for {seconds} s"),
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let count = buffer.filled().len() - before;
        let has_room = self
            .received
            .as_ref()
            .is_none_or(|received| lock(&received.0).add(count));
        Poll::Ready(if has_room {
            Ok(())
        } else {
            Err(io::Error::new(
                io::ErrorKind::OutOfMemory,
                "too many bytes of unfinished messages",
            ))
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.in_time(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        // A WebSocket flushes when it has written all that waited.
        self.pongs.0.store(0, Ordering::Release);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.in_time(shut, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_is_given_up_and_one_that_reads_slowly_is_not() {
        let (near, mut far) = tokio::io::duplex(10);
        let mut near = Guarded::new(near).unread_at_most(UNREAD_TIME_MAX);
        let reading = tokio::spawn(async move {
            let mut byte = [0];
            for _ in 0..90 {
                tokio::time::sleep(UNREAD_TIME_MAX / 2).await;
                far.read_exact(&mut byte).await.unwrap();
            }
            far
        });
        near.write_all(&[0; 100]).await.unwrap();
        let _far = reading.await.unwrap();
        let start = Instant::now();
        let error = near.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.to_string(), "the peer has read nothing for 60 s");
        assert!(start.elapsed() >= UNREAD_TIME_MAX);
    }

    #[tokio::test]
    async fn answers_to_pings_are_counted_until_they_are_written() {
        let (near, _far) = tokio::io::duplex(10);
        let mut near = Guarded::new(near);
        let pongs = near.pongs();
        let count = PONG_BYTES_MAX / (100 + FRAME_HEAD_BYTES);
        assert!((0..count).all(|_| pongs.owe(&[0; 100])));
        assert!(!pongs.owe(&[0; 100]));
        near.flush().await.unwrap();
        assert!(pongs.owe(&[0; 100]));
    }

    #[tokio::test]
    async fn an_unfinished_message_has_a_budget() {
        let (near, mut far) = tokio::io::duplex(100);
        let (mut near, received) = Guarded::new(near).within(&Budget::new(10));
        let mut buffer = [0; 8];
        far.write_all(&[0; 24]).await.unwrap();
        near.read_exact(&mut buffer).await.unwrap();
        assert_eq!(received.bytes(), 8);
        received.clear();
        near.read_exact(&mut buffer).await.unwrap();
        assert!(near.read_exact(&mut buffer).await.is_err());
    }
}
