//! The bodies that a proxy passes on or makes: what is there already, then what a peer sends, looked at where that is
//! asked for, and what faults say in between.

use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use mcprove_servers::hosting::http_limits::BODY_PAUSE_MAX;
use tokio::time::Sleep;

use super::prelude::*;

/// Why a body breaks off.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// How long what was said last may take to leave before the connection breaks.
const LAST_WORDS: Duration = Duration::from_millis(30);

/// Something that is said on a stream that we make, or add to.
pub enum StreamItem {
    /// These bytes.
    Bytes(Bytes),
    /// The stream breaks off.
    Break,
}

/// Why a body of the server was not read whole.
pub enum Unread {
    /// It broke off after this.
    Broken(Bytes),
    /// It is too long; it can still be passed on from its beginning.
    Long(ProxyBody),
}

/// A body of a request or a response.
#[derive(Default)]
pub struct ProxyBody {
    /// What comes next.
    ready: VecDeque<Bytes>,
    /// What comes after that.
    incoming: Option<Incoming>,
    /// Where the connection to the server goes when its body is over.
    home: Option<(SendRequest<Self>, Arc<Upstream>)>,
    tap: Option<Box<Tap>>,
    /// What else is said on it.
    said: Option<mpsc::Receiver<StreamItem>>,
    /// Whether the connection breaks after what was said.
    is_cut: bool,
    is_over: bool,
    /// When the connection breaks, or when a client has said nothing for too long.
    timer: Option<Pin<Box<Sleep>>>,
    /// Where its bytes are counted.
    count: Option<Arc<Count>>,
    /// Tells that somebody still wants it.
    presence: Option<Presence>,
}

impl ProxyBody {
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        let mut body = Self::default();
        let bytes = bytes.into();
        if !bytes.is_empty() {
            body.ready.push_back(bytes);
        }
        body
    }

    /// What was read of a client's body already, then the rest.
    pub fn client(read: Bytes, rest: Incoming) -> Self {
        let mut body = Self::whole(read);
        body.incoming = Some(rest);
        body
    }

    /// These bytes, then the connection breaks.
    pub fn cut(beginning: Bytes) -> Self {
        let mut body = Self::whole(beginning);
        body.is_cut = true;
        body
    }

    /// The body of a response of the server.
    pub fn upstream(
        incoming: Incoming,
        sender: SendRequest<Self>,
        upstream: Arc<Upstream>,
    ) -> Self {
        let is_over = incoming.is_end_stream();
        let mut body = Self::client(Bytes::new(), incoming);
        body.home = Some((sender, upstream));
        // A body that is empty may never be asked for.
        if is_over {
            body.finish(Ending::Whole);
        }
        body
    }

    pub fn with_tap(mut self, mut tap: Tap) -> Self {
        if self.is_over {
            tap.end(Ending::Whole, &mut self.ready);
        }
        self.tap = Some(Box::new(tap));
        self
    }

    pub fn with_injected(mut self, said: mpsc::Receiver<StreamItem>) -> Self {
        self.said = Some(said);
        self
    }

    /// Counts its bytes as they pass.
    pub fn counted(mut self, count: &Arc<Count>) -> Self {
        self.count = Some(Arc::clone(count));
        self
    }

    /// Keeps `presence` until the body is dropped, over or not.
    pub fn with_presence(mut self, presence: Option<Presence>) -> Self {
        self.presence = presence;
        self
    }

    /// The next piece of it; `None` at its end.
    pub async fn next_chunk(&mut self) -> Option<Result<Bytes, BodyError>> {
        loop {
            match self.frame().await?.map(Frame::into_data) {
                Ok(Ok(data)) => return Some(Ok(data)),
                Ok(Err(_)) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Reads all of it, if it is not too long.
    pub async fn read(mut self) -> Result<Bytes, Unread> {
        let mut body = Gathered::default();
        while let Some(chunk) = self.next_chunk().await {
            let Ok(chunk) = chunk else {
                return Err(Unread::Broken(body.take()));
            };
            body.push(chunk);
            if body.bytes() > LOOK_BYTES_MAX {
                self.ready.push_front(body.take());
                return Err(Unread::Long(self));
            }
        }
        Ok(body.take())
    }

    fn finish(&mut self, ending: Ending) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        if let Some(tap) = &mut self.tap {
            tap.end(ending, &mut self.ready);
        }
        if let Some((sender, home)) = self.home.take().filter(|_| ending == Ending::Whole) {
            home.give_back(sender);
        }
    }

    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            if self.is_cut {
                ready!(self.poll_timer(LAST_WORDS, context));
                self.finish(Ending::Broken);
                return Poll::Ready(Some(Err("broken off by a fault".into())));
            }
            let is_between = self.tap.as_ref().is_none_or(|tap| tap.is_between());
            if is_between && let Some(said) = &mut self.said {
                match said.poll_recv(context) {
                    Poll::Ready(Some(StreamItem::Bytes(bytes))) => {
                        return Poll::Ready(Some(Ok(Frame::data(bytes))));
                    }
                    Poll::Ready(Some(StreamItem::Break)) => {
                        self.is_cut = true;
                        continue;
                    }
                    Poll::Ready(None) => self.said = None,
                    Poll::Pending if self.incoming.is_none() => return Poll::Pending,
                    Poll::Pending => {}
                }
            }
            let Some(incoming) = &mut self.incoming else {
                self.is_over = true;
                continue;
            };
            match ready!(Pin::new(incoming).poll_frame(context)) {
                Some(Ok(frame)) => match (frame.into_data(), &mut self.tap) {
                    (Ok(data), Some(tap)) => tap.pass(data, &mut self.ready),
                    (Ok(data), None) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                    (Err(frame), _) => return Poll::Ready(Some(Ok(frame))),
                },
                Some(Err(error)) => {
                    self.finish(Ending::Broken);
                    return Poll::Ready(Some(Err(error.into())));
                }
                None => self.finish(Ending::Whole),
            }
        }
    }

    /// Whether it may become more or less than what arrives.
    const fn may_change(&self) -> bool {
        self.tap.is_some() || self.said.is_some() || self.is_cut
    }

    /// Whether that much time has passed since it was first asked.
    fn poll_timer(&mut self, time: Duration, context: &mut Context<'_>) -> Poll<()> {
        let timer = || Box::pin(tokio::time::sleep(time));
        self.timer.get_or_insert_with(timer).as_mut().poll(context)
    }
}

impl Drop for ProxyBody {
    fn drop(&mut self) {
        // Whoever knows the length does not ask for the end.
        let is_whole = self.incoming.as_ref().is_none_or(Body::is_end_stream);
        self.finish(if is_whole {
            Ending::Whole
        } else {
            Ending::Left
        });
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Poll::Ready(frame) = self.poll_next(context) else {
            // Only clients are waited for no longer than this.
            if self.incoming.is_some() && self.home.is_none() {
                ready!(self.poll_timer(BODY_PAUSE_MAX, context));
                let message = "the body of the client did not arrive in time";
                return Poll::Ready(Some(Err(message.into())));
            }
            return Poll::Pending;
        };
        self.timer = None;
        if let (Some(Ok(frame)), Some(count)) = (&frame, &self.count) {
            count.add(frame.data_ref().map_or(0, Bytes::len), 0);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        let is_received = self.incoming.as_ref().is_none_or(Body::is_end_stream);
        self.ready.is_empty() && (self.is_over || !self.may_change() && is_received)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.incoming {
            _ if self.may_change() => SizeHint::default(),
            None => {
                let sizes = self.ready.iter().map(Bytes::len);
                SizeHint::with_exact(sizes.sum::<usize>() as u64)
            }
            Some(incoming) if self.ready.is_empty() => incoming.size_hint(),
            Some(_) => SizeHint::default(),
        }
    }
}
