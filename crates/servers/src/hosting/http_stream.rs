//! Answers over HTTP that are streams of events: to a request, and to whoever opens one with GET.

use http_body_util::StreamBody;
use hyper::body::Frame;

use crate::prelude::*;
use super::http_answer::{Answer, Body, events};

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
