//! Answers over HTTP that are streams of events: to a request, and to whoever opens one with GET. And the client that
//! waits for an answer, and may leave before it comes.

use http_body_util::StreamBody;
use hyper::body::Frame;

use super::http_answer::{Answer, Body, events};
use crate::prelude::*;

/// A part of a body.
pub struct Piece {
    pub bytes: Bytes,
    /// Whether the connection is closed after it, in the middle of the body.
    pub is_cut: bool,
}

impl Piece {
    /// One that the body may end with.
    pub const fn whole(bytes: Bytes) -> Self {
        let is_cut = false;
        Self { bytes, is_cut }
    }
}

/// A body of these pieces, up to one after which the connection is closed.
pub fn body(pieces: impl Stream<Item = Piece> + Send + 'static) -> Body {
    let frames = pieces.flat_map(|Piece { bytes, is_cut }| {
        let cut = stream::iter(is_cut.then_some(Err(BrokenOff))).then(async |cut| {
            // Pieces are written only when the next one is not there yet.
            tokio::task::yield_now().await;
            cut
        });
        stream::iter([Ok(Frame::data(bytes))]).chain(cut)
    });
    StreamBody::new(frames).boxed_unsync()
}

/// The answers as they come.
pub fn outgoing(mut answers: Answers) -> impl Stream<Item = Outgoing> + Send {
    stream::poll_fn(move |context| answers.poll_recv(context))
}

/// The answers to a request, for a client that may leave.
pub fn answers(first: Option<Outgoing>, answers: Answers, mut waiting: Waiting) -> Answer {
    let all = stream::iter(first).chain(outgoing(answers));
    events(all.map(move |outgoing| {
        waiting.note(outgoing.ending);
        event(&outgoing)
    }))
}

/// Changes that a session is to hear of, until it is closed. Only the newest stream of a session
/// tells them.
pub fn news(session: Arc<Session>, news: broadcast::Receiver<Change>) -> Answer {
    let number = session.streams.fetch_add(1, Ordering::SeqCst) + 1;
    let open = Piece::whole(Bytes::from_static(b": open\n\n"));
    let told = stream::unfold((session, news), move |(session, mut news)| async move {
        loop {
            let outgoing = changes::next_for(&session, &mut news).await?;
            if session.streams.load(Ordering::SeqCst) == number {
                return Some((event(&outgoing), (session, news)));
            }
        }
    });
    events(stream::iter([open]).chain(told))
}

/// What is written, as an event.
pub fn event(outgoing: &Outgoing) -> Piece {
    let Outgoing { bytes, ending, .. } = outgoing;
    let is_cut = matches!(ending, Ending::Cut | Ending::Short);
    // One that is parked is an event already.
    if *ending == Ending::Parked || is_cut && bytes.is_empty() {
        let bytes = bytes.clone();
        return Piece { bytes, is_cut };
    }
    let mut event = Vec::with_capacity(bytes.len() + 32);
    event.extend_from_slice(b"event: message\n");
    for line in bytes.split(|byte| *byte == b'\n') {
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(line);
        event.push(b'\n');
    }
    if ending.is_whole() && !is_cut {
        event.push(b'\n');
    } else {
        event.pop();
    }
    Piece {
        // What the answer is charged stays charged.
        bytes: kept_with(event, bytes.clone()),
        is_cut,
    }
}

/// Gives up the work on a request when whoever waits for it is gone.
pub struct Waiting {
    /// The work, once it has begun.
    pub work: Option<Started>,
    host: Arc<Host>,
    session: Arc<Session>,
    ids: Vec<Value>,
    is_batch: bool,
    era: Era,
    is_answered: bool,
}

impl Waiting {
    pub fn new(peer: &Peer, message: &Value, era: Era) -> Self {
        let messages = message.as_array();
        let messages = messages.map_or(std::slice::from_ref(message), Vec::as_slice);
        let ids = messages.iter().filter_map(|one| one.get("id").cloned());
        Self {
            work: None,
            host: Arc::clone(&peer.host),
            session: Arc::clone(&peer.session),
            ids: ids.collect(),
            is_batch: message.is_array(),
            era,
            is_answered: false,
        }
    }

    /// Whether there will be no answer because the client wants none: it cancelled the request, or
    /// closed its session.
    pub fn is_unwanted(&self) -> bool {
        let ended = self.work.as_ref().and_then(|work| work.ended.get());
        ended.is_some_and(|how| how.is_unwanted()) || self.session.is_closed()
    }

    /// Notes an answer; after the last one, leaving cancels nothing.
    pub fn note(&mut self, ending: Ending) {
        self.is_answered |= ending.is_final();
        if ending == Ending::Parked {
            self.work = None;
        }
    }

    /// Cancels everything that was asked for, and says whether any of it goes on all the same.
    fn cancel(&self, work: &Started) -> bool {
        // Somebody else may wait for another request with the same id. The work on a batch is only
        // what waits for its answers.
        let which = (!self.is_batch).then(|| work.task.id());
        let how = self.host.why_closed();
        let go_on = self.ids.iter().filter(|id| match self.era {
            // Over HTTP, this is how a client of this era cancels.
            Era::Stateless => self.host.cancel(&self.session, id, which, how),
            // Nobody is left to answer, though nobody said that the work is unwanted.
            Era::Handshake => self.session.in_flight.cancel(id, which, how).1,
        });
        go_on.count() > 0
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(work) = &self.work
            && (self.is_answered || !self.cancel(work))
        {
            work.task.abort();
        }
    }
}
