//! Looking at answers as they pass: to write them down, and to leave tools out of lists.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use mcprove_recording::{Peer, RecordedRequest};
use mcprove_servers::hosting::http_limits::Gathered;
use mcprove_trace::ErrorCategory;
use mcprove_trace::protocol::split_batch;
use mcprove_trace::protocol::sse::Event;

use super::events::{Piece, RawEvents, encode};
use super::headers::BodyKind;
use super::hub::Hub;
use super::passing::{Ending, Tap};
use super::sessions::Session;
use crate::LOOK_BYTES_MAX;
use crate::message::{IdKey, Seen};

/// Why the end of a request that is written down is not known.
pub const TOO_LONG: &str = "the answer was too long to be looked at";

/// What is wanted of the answer to what a client posted.
#[derive(Clone)]
pub struct ResponseObserver {
    /// What it asked: one thing, or the members of a batch.
    pub asked: Vec<Asked>,
    /// Whether it is a list of tools.
    pub is_listing: bool,
    /// Whether it opens a session.
    pub is_opening: bool,
    pub session: Session,
}

/// The id of one thing that was asked, and what is written down of it.
pub type Asked = (IdKey, Option<RecordedRequest>);

impl ResponseObserver {
    /// Looks at the answer: what goes on in its place, if anything.
    pub fn answer(&self, hub: &Hub, message: &[u8]) -> Option<Vec<u8>> {
        let changed = self
            .is_listing
            .then(|| hub.watch.listing(message))
            .flatten();
        self.record(changed.as_deref().unwrap_or(message));
        changed
    }

    /// Writes down an answer, or several in a batch.
    fn record(&self, message: &[u8]) {
        if message.trim_ascii_start().first() == Some(&b'[') {
            for member in split_batch(message).unwrap_or_default() {
                for recorded in self.recorded(|id| Seen::of(member.as_bytes()).answers(id)) {
                    recorded.answer(member.as_bytes());
                }
            }
            return;
        }
        // One that names nothing that was asked is about all of it.
        let is_meant = |id: &IdKey| self.asked.len() == 1 || Seen::of(message).answers(id);
        let is_about_all = !self.asked.iter().any(|(id, _)| is_meant(id));
        for recorded in self.recorded(|id| is_about_all || is_meant(id)) {
            recorded.answer(message);
        }
    }

    /// The requests that are written down, of those that are meant.
    fn recorded(
        &self,
        is_meant: impl Fn(&IdKey) -> bool,
    ) -> impl Iterator<Item = &RecordedRequest> {
        let meant = self.asked.iter().filter(move |(id, _)| is_meant(id));
        meant.filter_map(|(_, recorded)| recorded.as_ref())
    }

    /// Those that have no end yet.
    pub fn open(&self) -> impl Iterator<Item = &RecordedRequest> {
        self.recorded(|_| true).filter(|open| !open.has_ended())
    }

    /// There is no answer to what has none yet.
    pub fn fail(&self, category: ErrorCategory, message: &str) {
        for recorded in self.open() {
            recorded.fail(category, message);
        }
    }

    /// Looks at a whole body of JSON, which may be that of a refusal.
    pub fn body(&self, hub: &Hub, status: StatusCode, body: &[u8]) -> Option<Vec<u8>> {
        let is_answer = || matches!(Seen::of(body), Seen::Answer { .. } | Seen::Batch);
        if !status.is_success() && !is_answer() {
            self.fail(ErrorCategory::ServerError, &format!("HTTP {status}"));
            return None;
        }
        let changed = self.answer(hub, body);
        let message = "it is not among the answers to its batch";
        self.fail(ErrorCategory::Malformed, message);
        changed
    }

    /// What was to answer ended before it did.
    pub fn end_without(&self, ending: Ending) {
        let message = match ending {
            Ending::Left => return self.cancel(),
            Ending::Whole => "the stream ended without an answer",
            Ending::Broken => "the connection closed before the answer was complete",
        };
        self.fail(ErrorCategory::Disconnected, message);
    }

    /// Nobody waits for it any more.
    pub fn cancel(&self) {
        self.open().for_each(RecordedRequest::cancel);
    }

    /// The same, of each thing that was asked.
    pub fn each(&self) -> impl Iterator<Item = (&IdKey, Self)> {
        self.asked.iter().map(|asked| {
            let alone = Self {
                asked: vec![asked.clone()],
                session: self.session.clone(),
                ..*self
            };
            (&asked.0, alone)
        })
    }

    fn is_answer(&self, message: &[u8]) -> bool {
        let seen = Seen::of(message);
        let is_batch = matches!(seen, Seen::Batch);
        is_batch || self.asked.iter().any(|(id, _)| seen.answers(id))
    }
}

/// Looks at the one answer of a request, in a body of any kind.
pub struct AnswerTap {
    hub: Arc<Hub>,
    look: ResponseObserver,
    kind: BodyKind,
    status: StatusCode,
    body: Gathered,
    is_too_long: bool,
    events: RawEvents,
}

impl AnswerTap {
    pub fn new(hub: Arc<Hub>, look: ResponseObserver, kind: BodyKind, status: StatusCode) -> Self {
        Self {
            hub,
            look,
            kind,
            status,
            body: Gathered::default(),
            is_too_long: false,
            events: RawEvents::new(),
        }
    }

    fn event(&self, raw: Bytes, event: &Event) -> Bytes {
        if !self.look.is_answer(&event.data) {
            let session = self.look.session.recorded.as_ref();
            Seen::of(&event.data).note(Peer::Server, session);
            return raw;
        }
        match self.look.answer(&self.hub, &event.data) {
            Some(changed) => encode(&changed, Some(event)),
            None => raw,
        }
    }
}

impl Tap for AnswerTap {
    fn pass(&mut self, chunk: Bytes, onwards: &mut VecDeque<Bytes>) {
        if self.kind != BodyKind::Events {
            if self.body.bytes() + chunk.len() <= LOOK_BYTES_MAX {
                self.body.push(chunk.clone());
            } else {
                self.is_too_long = true;
            }
            onwards.push_back(chunk);
            return;
        }
        self.events.push(&chunk);
        while let Some(piece) = self.events.next_piece() {
            onwards.push_back(match piece {
                Piece::Event(raw, event) => self.event(raw, &event),
                Piece::Other(raw) | Piece::Long(raw) => raw,
            });
        }
    }

    fn end(&mut self, ending: Ending, onwards: &mut VecDeque<Bytes>) {
        if self.kind == BodyKind::Events {
            let rest = self.events.rest();
            if !rest.is_empty() {
                onwards.push_back(rest);
            }
            self.look.end_without(ending);
        } else if ending == Ending::Left {
            self.look.end_without(ending);
        } else if self.is_too_long {
            self.look.fail(ErrorCategory::Malformed, TOO_LONG);
        } else if self.kind == BodyKind::Json && ending == Ending::Whole {
            // What a list is to say instead was decided before; this one passes as it is.
            self.look.body(&self.hub, self.status, &self.body.take());
        } else if self.status.is_success() {
            self.look.end_without(Ending::Broken);
        } else {
            let message = format!("HTTP {}", self.status);
            self.look.fail(ErrorCategory::ServerError, &message);
        }
    }

    fn is_between(&self) -> bool {
        self.events.is_between()
    }
}
