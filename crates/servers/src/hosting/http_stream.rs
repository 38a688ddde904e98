//! Answers over HTTP that are streams of events: to a request, and to whoever opens one with GET.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::broadcast;

use super::changes::{self, Change};
use super::exchange::{Answers, Outgoing};
use super::http_answer::{self as answer, Answer, Piece};
use super::http_waiting::Waiting;
use super::session::Session;

/// The answers to a request, for a client that may leave.
pub fn stream(first: Option<Outgoing>, answers: Answers, waiting: Waiting) -> Answer {
    answer::events((first, answers, waiting), |state| async move {
        let (first, mut answers, mut waiting) = state;
        let outgoing = match first {
            Some(first) => first,
            None => answers.recv().await?,
        };
        waiting.note(outgoing.ending);
        Some((answer::event(&outgoing), (None, answers, waiting)))
    })
}

/// What is left of a stream that the server closed.
pub fn rest(answers: Answers) -> Answer {
    answer::events(answers, |mut answers| async move {
        let outgoing = answers.recv().await?;
        Some((answer::event(&outgoing), answers))
    })
}

/// Changes that a session is to hear of, until it is closed. Only the newest stream of a session
/// tells them.
pub fn news(session: Arc<Session>, news: broadcast::Receiver<Change>) -> Answer {
    let number = session.open_stream();
    let state = (session, news, true);
    answer::events(state, move |(session, mut news, is_new)| async move {
        if is_new {
            let open = Piece::whole(Bytes::from_static(b": open\n\n"));
            return Some((open, (session, news, false)));
        }
        loop {
            let outgoing = tokio::select! {
                () = session.wait_closed() => None,
                outgoing = changes::next(&mut news, &session) => outgoing,
            }?;
            if session.is_newest_stream(number) {
                return Some((answer::event(&outgoing), (session, news, false)));
            }
        }
    })
}
