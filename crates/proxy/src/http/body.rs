//! The bodies that a proxy passes on or makes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use mcprove_servers::hosting::http_limits::BODY_PAUSE_MAX;
use tokio::sync::mpsc;
use tokio::time::Sleep;

use super::passing::Passing;

/// Why a body breaks off.
pub(super) type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Something that is said on a stream that we make, or add to.
pub(super) enum Said {
    /// These bytes.
    Bytes(Bytes),
    /// The stream breaks off.
    Break,
}

/// Something that happens when a body is over, or nobody wants it any more.
pub(super) type Farewell = Box<dyn FnOnce() + Send>;

/// A body of a request or a response.
pub(super) struct ProxyBody {
    kind: Kind,
    farewell: Option<Farewell>,
    /// Where its bytes are counted.
    count: Option<Arc<AtomicU64>>,
    /// Ends when a client has said nothing for too long; there is one while it is waited for.
    pause: Option<Pin<Box<Sleep>>>,
}

enum Kind {
    Whole(Bytes),
    Client(Incoming),
    /// What was read already, then the rest.
    Chained(Bytes, Incoming),
    Upstream(Box<Passing>),
    Made(mpsc::Receiver<Said>),
    /// These bytes, then the connection breaks.
    Cut(Bytes),
    /// The connection is about to break.
    Breaking(Break),
}

/// What was said before reaches the client, then the connection breaks.
pub(super) type Break = Pin<Box<Sleep>>;

/// How long what was said last may take to leave before the connection breaks.
const LAST_WORDS: Duration = Duration::from_millis(30);

pub(super) fn break_off() -> Break {
    Box::pin(tokio::time::sleep(LAST_WORDS))
}

pub(super) fn broken() -> BodyError {
    "broken off by a fault".into()
}

impl ProxyBody {
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Kind::Whole(bytes.into()).into()
    }

    pub fn client(incoming: Incoming) -> Self {
        Kind::Client(incoming).into()
    }

    pub fn chained(read: Bytes, rest: Incoming) -> Self {
        Kind::Chained(read, rest).into()
    }

    pub fn made(said: mpsc::Receiver<Said>) -> Self {
        Kind::Made(said).into()
    }

    pub fn cut(beginning: Bytes) -> Self {
        Kind::Cut(beginning).into()
    }

    pub fn passing(passing: Passing) -> Self {
        Kind::Upstream(Box::new(passing)).into()
    }

    /// Counts its bytes as they pass.
    pub fn counted(mut self, count: &Arc<AtomicU64>) -> Self {
        self.count = Some(Arc::clone(count));
        self
    }

    /// Has `farewell` called when the body is dropped, over or not.
    pub fn with_farewell(mut self, farewell: Farewell) -> Self {
        self.farewell = Some(farewell);
        self
    }
}

impl From<Kind> for ProxyBody {
    fn from(kind: Kind) -> Self {
        Self {
            kind,
            farewell: None,
            count: None,
            pause: None,
        }
    }
}

impl Drop for ProxyBody {
    fn drop(&mut self) {
        if let Some(farewell) = self.farewell.take() {
            farewell();
        }
    }
}

impl ProxyBody {
    fn poll_kind(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.kind {
            Kind::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Kind::Chained(read, rest) => {
                if read.is_empty() {
                    return Pin::new(rest).poll_frame(context).map_err(Into::into);
                }
                let read = std::mem::take(read);
                Poll::Ready(Some(Ok(Frame::data(read))))
            }
            Kind::Client(incoming) => Pin::new(incoming).poll_frame(context).map_err(Into::into),
            Kind::Upstream(passing) => passing.poll_frame(context),
            Kind::Made(said) => match ready!(said.poll_recv(context)) {
                Some(Said::Bytes(bytes)) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Some(Said::Break) => {
                    self.kind = Kind::Breaking(break_off());
                    self.poll_kind(context)
                }
                None => Poll::Ready(None),
            },
            Kind::Cut(beginning) => {
                let beginning = std::mem::take(beginning);
                self.kind = Kind::Breaking(break_off());
                Poll::Ready(Some(Ok(Frame::data(beginning))))
            }
            Kind::Breaking(breaking) => {
                ready!(breaking.as_mut().poll(context));
                Poll::Ready(Some(Err(broken())))
            }
        }
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Poll::Ready(frame) = self.poll_kind(context) else {
            if matches!(self.kind, Kind::Client(_) | Kind::Chained(..)) {
                let pause = || Box::pin(tokio::time::sleep(BODY_PAUSE_MAX));
                ready!(self.pause.get_or_insert_with(pause).as_mut().poll(context));
                return Poll::Ready(Some(Err(
                    "the body of the client did not arrive in time".into()
                )));
            }
            return Poll::Pending;
        };
        self.pause = None;
        if let (Some(Ok(frame)), Some(count)) = (&frame, &self.count) {
            let length = frame.data_ref().map_or(0, Bytes::len);
            count.fetch_add(length as u64, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Client(incoming) => incoming.is_end_stream(),
            Kind::Chained(read, rest) => read.is_empty() && rest.is_end_stream(),
            Kind::Upstream(passing) => passing.is_end_stream(),
            Kind::Made(_) | Kind::Cut(_) | Kind::Breaking(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Client(incoming) => incoming.size_hint(),
            Kind::Upstream(passing) => passing.size_hint(),
            _ => SizeHint::default(),
        }
    }
}
