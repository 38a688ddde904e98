//! Looking at answers as they pass: to write them down, and to leave tools out of lists.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use mcprove_score::trace::ErrorCategory;

use super::events::{Piece, RawEvents, encode};
use super::headers::BodyKind;
use super::hub::Hub;
use super::passing::{Ending, Tap};
use super::sessions::Session;
use crate::protocol::sse::Event;
use crate::proxy::LOOK_BYTES_MAX;
use crate::proxy::message::{IdKey, Seen};
use crate::recording::{Peer, RecordedRequest};

/// What is wanted of the answer to a request.
#[derive(Clone)]
pub(super) struct Look {
    pub id: IdKey,
    pub recorded: Option<RecordedRequest>,
    /// Whether it is a list of tools.
    pub is_listing: bool,
    /// Whether it opens a session.
    pub is_opening: bool,
    pub session: Session,
}

impl Look {
    /// Looks at the answer: what goes on in its place, if anything.
    pub fn answer(&self, hub: &Hub, message: &[u8]) -> Option<Vec<u8>> {
        let changed = self
            .is_listing
            .then(|| hub.watch.listing(message))
            .flatten();
        if let Some(recorded) = &self.recorded {
            recorded.answer(changed.as_deref().unwrap_or(message));
        }
        changed
    }

    /// There is no answer.
    pub fn fail(&self, category: ErrorCategory, message: &str) {
        if let Some(recorded) = self.recorded.as_ref().filter(|open| !open.has_ended()) {
            recorded.fail(category, message);
        }
    }

    /// Looks at a whole body of JSON, which may be that of a refusal.
    pub fn body(&self, hub: &Hub, status: StatusCode, body: &[u8]) -> Option<Vec<u8>> {
        if !status.is_success() && !matches!(Seen::of(body), Seen::Answer { .. }) {
            self.fail(ErrorCategory::ServerError, &format!("HTTP {status}"));
            return None;
        }
        self.answer(hub, body)
    }

    /// What was to answer ended before it did.
    pub fn end_without(&self, ending: Ending) {
        let open = self.recorded.as_ref().filter(|open| !open.has_ended());
        let Some(recorded) = open else { return };
        let message = match ending {
            Ending::Left => return recorded.cancel(),
            Ending::Whole => "the stream ended without an answer",
            Ending::Broken => "the connection closed before the answer was complete",
        };
        recorded.fail(ErrorCategory::Disconnected, message);
    }

    fn note(&self, message: &[u8]) {
        note(&self.session, message);
    }
}

/// Writes down what a server says by itself.
pub(super) fn note(session: &Session, message: &[u8]) {
    let Some(recorded) = &session.recorded else {
        return;
    };
    match Seen::of(message) {
        Seen::Request { id, method, params } => recorded.server_request(id, &method, params),
        Seen::Notification { method, params } => {
            recorded.notification(Peer::Server, &method, params);
        }
        Seen::Answer { .. } | Seen::Batch | Seen::Other => {}
    }
}

/// Looks at the one answer of a request, in a body of any kind.
pub(super) struct AnswerTap {
    hub: Arc<Hub>,
    look: Look,
    kind: BodyKind,
    status: StatusCode,
    body: BytesMut,
    is_too_long: bool,
    events: RawEvents,
}

impl AnswerTap {
    pub fn new(hub: Arc<Hub>, look: Look, kind: BodyKind, status: StatusCode) -> Self {
        Self {
            hub,
            look,
            kind,
            status,
            body: BytesMut::new(),
            is_too_long: false,
            events: RawEvents::new(),
        }
    }

    fn event(&self, raw: Bytes, event: &Event) -> Bytes {
        let is_answer = matches!(
            Seen::of(&event.data),
            Seen::Answer { id } if IdKey::new(id) == self.look.id
        );
        if !is_answer {
            self.look.note(&event.data);
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
            if self.body.len() + chunk.len() <= LOOK_BYTES_MAX {
                self.body.extend_from_slice(&chunk);
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
                Piece::Other(raw) => raw,
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
            let message = "the answer was too long to be looked at";
            self.look.fail(ErrorCategory::Malformed, message);
        } else if self.kind == BodyKind::Json && ending == Ending::Whole {
            // What a list is to say instead was decided before; this one passes as it is.
            self.look.body(&self.hub, self.status, &self.body);
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
