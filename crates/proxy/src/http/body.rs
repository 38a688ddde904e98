//! The bodies that a proxy passes on or makes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use mcprove_servers::hosting::http_limits::BODY_PAUSE_MAX;
use tokio::sync::mpsc;
use tokio::time::Sleep;

use super::passing::Passing;
use crate::report::Count;

/// Why a body breaks off.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// Something that is said on a stream that we make, or add to.
pub enum Said {
    /// These bytes.
    Bytes(Bytes),
    /// The stream breaks off.
    Break,
}

/// Something that happens when a body is over, or nobody wants it any more.
pub type Farewell = Box<dyn FnOnce() + Send>;

/// A body of a request or a response.
pub struct ProxyBody {
    kind: Kind,
    farewell: Option<Farewell>,
    /// Where its bytes are counted.
    count: Option<Arc<Count>>,
    /// Ends when a client has said nothing for too long; there is one while it is waited for.
    pause: Option<Pin<Box<Sleep>>>,
}

enum Kind {
    Whole(Bytes),
    /// What was read of a client's body already, then the rest.
    Client(Bytes, Incoming),
    Upstream(Box<Passing>),
    Made(mpsc::Receiver<Said>),
    /// These bytes, then the connection breaks.
    Cut(Bytes),
    /// The connection is about to break.
    Breaking(Break),
}

/// What was said before reaches the client, then the connection breaks.
pub type Break = Pin<Box<Sleep>>;

/// How long what was said last may take to leave before the connection breaks.
const LAST_WORDS: Duration = Duration::from_millis(30);

pub fn break_off() -> Break {
    Box::pin(tokio::time::sleep(LAST_WORDS))
}

pub fn broken() -> BodyError {
    "broken off by a fault".into()
}

impl ProxyBody {
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Kind::Whole(bytes.into()).into()
    }

    pub fn client(read: Bytes, rest: Incoming) -> Self {
        Kind::Client(read, rest).into()
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
    pub fn counted(mut self, count: &Arc<Count>) -> Self {
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
            Kind::Client(read, rest) => {
                if read.is_empty() {
                    return Pin::new(rest).poll_frame(context).map_err(Into::into);
                }
                let read = std::mem::take(read);
                Poll::Ready(Some(Ok(Frame::data(read))))
            }
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
            if matches!(self.kind, Kind::Client(..)) {
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
            count.add(frame.data_ref().map_or(0, Bytes::len), 0);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Client(read, rest) => read.is_empty() && rest.is_end_stream(),
            Kind::Upstream(passing) => passing.is_end_stream(),
            Kind::Made(_) | Kind::Cut(_) | Kind::Breaking(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Client(read, rest) if read.is_empty() => rest.size_hint(),
            Kind::Upstream(passing) => passing.size_hint(),
            _ => SizeHint::default(),
        }
    }
}
