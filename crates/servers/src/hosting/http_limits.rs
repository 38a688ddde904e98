//! What a client over HTTP may take: time for the head and the body of a request, and memory for bodies. The proxy
//! holds its clients to the same.

use bytes::BytesMut;
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use tokio::time::Instant;

use crate::prelude::*;

/// How long a client may take over the head of a request, from the end of the last answer on: also how long a
/// connection may be idle. Nothing is limited while an answer is pending or a stream is open.
pub const HEAD_TIME_MAX: Duration = Duration::from_mins(1);
/// The largest head of a request, and what is read of a connection at once: what a client that does not finish its
/// heads makes us hold.
pub const HEAD_BYTES_MAX: usize = 16 * 1024;
/// The most connections at a time; further ones wait to be accepted. With [`HEAD_BYTES_MAX`], 128 MiB for heads.
pub const CONNECTIONS_MAX: usize = 8_192;
/// How long a client may say nothing in the middle of a body.
pub const BODY_PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long a whole body may take.
pub const BODY_TIME_MAX: Duration = Duration::from_mins(5);
/// How many bytes of requests are held at a time, for all clients together: bodies that arrive, and requests that are
/// worked on.
pub const REQUEST_BYTES_MAX: usize = 256 * 1024 * 1024;

/// A server of HTTP that waits no longer than this for heads.
pub fn builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(HEAD_BYTES_MAX);
    builder
}

/// A body, as far as it is here. Most come in one piece, which needs no copy.
#[derive(Default)]
pub struct Gathered {
    first: Bytes,
    all: BytesMut,
}

impl Gathered {
    pub fn bytes(&self) -> usize {
        self.first.len() + self.all.len()
    }

    /// Adds a piece.
    pub fn push(&mut self, piece: Bytes) {
        if self.bytes() == 0 {
            self.first = piece;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&piece);
    }

    /// What is here.
    pub fn take(&mut self) -> Bytes {
        if self.all.is_empty() {
            std::mem::take(&mut self.first)
        } else {
            self.all.split().freeze()
        }
    }
}

/// A body read whole, or as far as it may be.
pub enum Read {
    /// All of it, and what it is charged.
    Whole(Bytes, Charge),
    /// The beginning of one that is too long, and the rest.
    Long(Bytes, Incoming),
    /// The beginning of one for which there is no room now, and the rest.
    Crowded(Bytes, Incoming),
}

/// Why a body cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The client took too long.
    #[error("the body did not arrive in time")]
    Late,
    /// The connection broke.
    #[error(transparent)]
    Broken(#[from] hyper::Error),
}

/// Reads the body of a request, of `limit` bytes at most and within the budget.
pub async fn read(mut incoming: Incoming, limit: usize, budget: &Budget) -> Result<Read, Unread> {
    let mut body = Gathered::default();
    let mut charge = budget.open();
    let end = Instant::now() + BODY_TIME_MAX;
    loop {
        let until = end.min(Instant::now() + BODY_PAUSE_MAX);
        let frame = tokio::time::timeout_at(until, incoming.frame());
        let Some(frame) = frame.await.map_err(|_| Unread::Late)? else {
            return Ok(Read::Whole(body.take(), charge));
        };
        let Ok(piece) = frame?.into_data() else {
            continue;
        };
        let has_room = charge.add(piece.len());
        body.push(piece);
        if body.bytes() > limit {
            return Ok(Read::Long(body.take(), incoming));
        }
        if !has_room {
            return Ok(Read::Crowded(body.take(), incoming));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_together_in_order_and_one_is_not_copied() {
        let mut body = Gathered::default();
        let piece = Bytes::from(vec![b'a'; 100]);
        body.push(Bytes::new());
        body.push(piece.clone());
        assert_eq!(body.take().as_ptr(), piece.as_ptr());
        assert_eq!(body.bytes(), 0);
        for piece in ["one", "", " two", " three"] {
            body.push(Bytes::from_static(piece.as_bytes()));
        }
        assert_eq!(
            (body.bytes(), &body.take()[..]),
            (13, &b"one two three"[..])
        );
    }
}
