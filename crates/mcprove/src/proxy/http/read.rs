//! Bodies that are read whole before anything is done with them.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::body::BodyError;

/// A body, as far as it is here. Most come in one piece, which needs no copy.
#[derive(Default)]
pub(super) struct Gathered {
    first: Bytes,
    all: BytesMut,
}

impl Gathered {
    pub fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    /// Adds a piece.
    pub fn push(&mut self, piece: Bytes) {
        if self.len() == 0 {
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
pub(super) enum Read {
    Whole(Bytes),
    /// The beginning of one that is too long, and the rest.
    Long(Bytes, Incoming),
}

/// Reads a body of a client, of `limit` bytes at most.
pub(super) async fn read(mut incoming: Incoming, limit: usize) -> Result<Read, BodyError> {
    let mut body = Gathered::default();
    while let Some(frame) = incoming.frame().await {
        let Ok(piece) = frame?.into_data() else {
            continue;
        };
        body.push(piece);
        if body.len() > limit {
            return Ok(Read::Long(body.take(), incoming));
        }
    }
    Ok(Read::Whole(body.take()))
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
        assert_eq!(body.len(), 0);
        for piece in ["one", "", " two", " three"] {
            body.push(Bytes::from_static(piece.as_bytes()));
        }
        assert_eq!((body.len(), &body.take()[..]), (13, &b"one two three"[..]));
    }
}
