//! The body of a response of the server, on its way to the client: looked at where that is asked for.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::SendRequest;
use tokio::sync::mpsc;

use super::body::{BodyError, Break, ProxyBody, Said, break_off, broken};
use super::upstream::Upstream;

/// How a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Whole,
    /// The server broke it off, or a fault did.
    Broken,
    /// The client did not want the rest.
    Left,
}

/// Looks at a body that passes, and may change it.
pub trait Tap: Send {
    /// Takes what arrived, and gives what goes on.
    fn pass(&mut self, chunk: Bytes, onwards: &mut VecDeque<Bytes>);

    /// The body is over.
    fn end(&mut self, ending: Ending, onwards: &mut VecDeque<Bytes>);

    /// Whether something else may be said now.
    fn is_between(&self) -> bool;
}

/// The body of a response of the server, on its way to the client.
pub struct Passing {
    incoming: Incoming,
    /// Where the connection goes when the body is over.
    home: Option<(SendRequest<ProxyBody>, Arc<Upstream>)>,
    tap: Option<Box<dyn Tap>>,
    onwards: VecDeque<Bytes>,
    /// What else is said on this stream.
    said: Option<mpsc::Receiver<Said>>,
    breaking: Option<Break>,
    is_over: bool,
}

impl Passing {
    pub fn new(incoming: Incoming, sender: SendRequest<ProxyBody>, home: Arc<Upstream>) -> Self {
        let mut passing = Self {
            incoming,
            home: Some((sender, home)),
            tap: None,
            onwards: VecDeque::new(),
            said: None,
            breaking: None,
            is_over: false,
        };
        // A body that is empty may never be asked for.
        if passing.incoming.is_end_stream() {
            passing.finish(Ending::Whole);
        }
        passing
    }

    pub fn with_tap(mut self, tap: Box<dyn Tap>) -> Self {
        self.tap = Some(tap);
        if self.is_over
            && let Some(tap) = &mut self.tap
        {
            tap.end(Ending::Whole, &mut self.onwards);
        }
        self
    }

    pub fn with_said(mut self, said: mpsc::Receiver<Said>) -> Self {
        self.said = Some(said);
        self
    }

    /// Has `beginning`, which was read before, come first.
    pub fn after(mut self, beginning: Bytes) -> Self {
        self.onwards.push_front(beginning);
        self
    }

    pub fn is_end_stream(&self) -> bool {
        let is_over = self.is_over || self.tap.is_none() && self.incoming.is_end_stream();
        self.onwards.is_empty() && is_over
    }

    pub fn size_hint(&self) -> SizeHint {
        if self.tap.is_none() && self.onwards.is_empty() {
            self.incoming.size_hint()
        } else {
            SizeHint::default()
        }
    }

    /// The next piece of it, without any tap; `None` at its end or where it breaks off.
    pub async fn next_chunk(&mut self) -> Option<Result<Bytes, BodyError>> {
        loop {
            if self.is_over {
                return None;
            }
            match self.incoming.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Some(Err(error)) => {
                    self.finish(Ending::Broken);
                    return Some(Err(error.into()));
                }
                None => self.finish(Ending::Whole),
            }
        }
    }

    fn finish(&mut self, ending: Ending) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        if let Some(tap) = &mut self.tap {
            tap.end(ending, &mut self.onwards);
        }
        if let Some((sender, home)) = self.home.take().filter(|_| ending == Ending::Whole) {
            home.give_back(sender);
        }
    }

    pub fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            if let Some(bytes) = self.onwards.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            if let Some(breaking) = &mut self.breaking {
                ready!(breaking.as_mut().poll(context));
                self.finish(Ending::Broken);
                return Poll::Ready(Some(Err(broken())));
            }
            let is_between = self.tap.as_ref().is_none_or(|tap| tap.is_between());
            if is_between && let Some(said) = &mut self.said {
                match said.poll_recv(context) {
                    Poll::Ready(Some(Said::Bytes(bytes))) => {
                        return Poll::Ready(Some(Ok(Frame::data(bytes))));
                    }
                    Poll::Ready(Some(Said::Break)) => {
                        self.breaking = Some(break_off());
                        continue;
                    }
                    Poll::Ready(None) => self.said = None,
                    Poll::Pending => {}
                }
            }
            match ready!(Pin::new(&mut self.incoming).poll_frame(context)) {
                Some(Ok(frame)) => match (frame.into_data(), &mut self.tap) {
                    (Ok(data), Some(tap)) => tap.pass(data, &mut self.onwards),
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
}

impl Drop for Passing {
    fn drop(&mut self) {
        // Whoever knows the length does not ask for the end.
        let is_whole = self.incoming.is_end_stream();
        self.finish(if is_whole {
            Ending::Whole
        } else {
            Ending::Left
        });
    }
}
