//! What arrives and is no message as it stands: noise, broken messages, messages mixed with other output, replies that
//! name no request. Each is a violation. None is taken for the reply to a call that it does not name, even where only one
//! call waits: that call goes on waiting.
//!
//! Only frames that cannot be read come here, so nothing of it costs a healthy server anything.

use std::ops::Range;

use mcprove_trace::protocol::Message;

use super::core::REMEMBERED_MAX;
use super::inbound::SHOWN_CHARACTERS;
use super::prelude::*;

/// What a client sends and no server does. Where a log line quotes it, it is no message for us.
const CLIENT_NOTIFICATIONS: [&str; 3] = [
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/roots/list_changed",
];
/// What a server may ask its client.
const SERVER_REQUESTS: [&str; 4] = [
    "ping",
    "roots/list",
    "sampling/createMessage",
    "elicitation/create",
];

/// How a call was answered whose reply was no proper frame. If a proper reply follows, it is no second answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repaired {
    /// By a broken message that names it.
    Broken,
    /// By a message among other output. The violation has this place among those that are kept.
    Recovered(Option<usize>),
}

/// What a message was that other output surrounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovered {
    /// The reply to this call, which waited for it.
    Reply(u64),
    /// Another message for us.
    Other,
    /// No message for us: a log line quotes what was sent or received.
    Quoted,
}

impl Core {
    /// Something that does not parse.
    pub fn receive_broken(&self, frame: &Bytes, reason: &str) {
        if let Some(handler) = &self.options.on_noise {
            self.call_handler("the handler of noise", || handler(frame));
        }
        let places = protocol::find_messages(frame);
        if !places.is_empty() {
            return self.receive_mixed(frame, &places);
        }
        let fragment = protocol::outline(frame);
        if !is_piece_of_message(frame) {
            self.violate(ViolationKind::Noise, show(frame));
            return;
        }
        let shown = show(frame);
        let failure =
            Failure::malformed(format!("the reply is not valid JSON ({reason}): {shown}"));
        let id = fragment.id.filter(|_| !fragment.has_method);
        if !self.settle_broken(id, failure) {
            if let Some(id) = id {
                self.answer_raw_with_broken(Id::Number(id), &shown);
            }
            self.violate(ViolationKind::InvalidMessage, format!("{reason}: {shown}"));
        }
    }

    /// Valid JSON that is no valid message.
    pub fn receive_invalid(
        &self,
        frame: &Bytes,
        envelope: &Envelope<'_>,
        id: Id<'_>,
        reason: &str,
    ) {
        let shown = show(frame);
        if !envelope.is_message() {
            // A line of a structured log, whatever its id stands for.
            if let Some(handler) = &self.options.on_noise {
                self.call_handler("the handler of noise", || handler(frame));
            }
            self.violate(ViolationKind::Noise, shown);
            return;
        }
        let failure = Failure::malformed(format!(
            "the reply is not a valid JSON-RPC message: {reason}"
        ));
        let is_request = envelope.method.is_some() && !envelope.is_reply();
        let answered = match id {
            Id::Number(number) if !is_request => Some(number),
            _ => None,
        };
        if !self.settle_broken(answered, failure) {
            if !is_request {
                self.answer_raw_with_broken(id, &shown);
            }
            self.violate(ViolationKind::InvalidMessage, format!("{reason}: {shown}"));
        }
    }

    /// A message over the limit, or one that was cut short.
    pub fn receive_unfinished(&self, size: u64, head: &Bytes, failure: Failure) {
        let is_oversized = size > self.options.max_frame as u64;
        if !is_oversized && self.lock().is_ending {
            // We ended the server in the middle of it.
            return;
        }
        let fragment = protocol::outline(head);
        let id = match fragment.id {
            _ if fragment.has_method => None,
            // Most of it was not read, and some write the id last. A WebSocket that breaks shows nothing of the message.
            None if is_oversized || head.is_empty() => self.only_call(),
            id => id,
        };
        let message = failure.message.clone();
        if !self.settle_broken(id, failure) {
            let kind = if is_oversized {
                ViolationKind::Oversized
            } else {
                ViolationKind::InvalidMessage
            };
            self.violate(kind, message);
        }
    }

    /// JSON-RPC has an error without an id where the request could not be read. We sent nothing unreadable, or it was
    /// answered.
    pub fn refuse_error_without_id(&self, error: &str) {
        let parsed = protocol::parse_bounded::<RpcError>(error);
        let text = parsed.map_or_else(|_| shorten(error, SHOWN_CHARACTERS), |error| error.message);
        self.violate(
            ViolationKind::ReplyWithoutId,
            format!("an error without an id: {text}"),
        );
    }

    /// Ends the call that a broken reply names; false if it names none that waits.
    fn settle_broken(&self, id: Option<u64>, failure: Failure) -> bool {
        let Some(id) = id else {
            return false;
        };
        let is_settled = self.settle(id, Ending::Failure(failure));
        if is_settled {
            self.lock().remember_repaired(id, Repaired::Broken);
        }
        is_settled
    }

    /// A broken message may be the answer to a raw one.
    fn answer_raw_with_broken(&self, id: Id<'_>, shown: &str) {
        let answer = RawAnswer::new(true, &format!("a broken answer: {shown}"));
        self.takes_raw(id, answer);
    }

    /// Messages with something around them on their line, or several on one line.
    fn receive_mixed(&self, frame: &Bytes, places: &[Range<usize>]) {
        let is_only_messages = !has_text_around(frame, places);
        let mut replies = Vec::new();
        let mut has_others = false;
        for place in places {
            let message = frame.slice(place.clone());
            let Ok(envelope) = Envelope::parse(&message) else {
                continue;
            };
            if is_only_messages {
                // Nothing speaks for a log that quotes them.
                has_others |= !envelope.is_reply();
                replies.extend(envelope.is_reply().then_some(None));
                self.receive_envelope(&message, &envelope);
                continue;
            }
            match self.receive_recovered(&message, &envelope) {
                Recovered::Reply(id) => replies.push(Some(id)),
                Recovered::Other => has_others = true,
                Recovered::Quoted => {}
            }
        }
        let kind = if !replies.is_empty() {
            ViolationKind::GarbledReply
        } else if has_others && is_only_messages {
            ViolationKind::InvalidMessage
        } else {
            ViolationKind::Noise
        };
        let place = self.violate(kind, show(frame));
        if self.is_injecting() {
            return;
        }
        let mut state = self.lock();
        for id in replies.into_iter().flatten() {
            state.remember_repaired(id, Repaired::Recovered(place));
        }
    }

    /// Takes a message out of other output, unless it is one that the output only quotes.
    fn receive_recovered(&self, frame: &Bytes, envelope: &Envelope<'_>) -> Recovered {
        let message = envelope.classify();
        let is_settled = match message {
            Message::Response { id, result } => {
                self.settle_with_result(frame, id, result)
                    || self.takes_raw(id, RawAnswer::of_result(result))
            }
            Message::Error { id, error } => {
                self.settle_with_error(id, error) || self.takes_raw(id, RawAnswer::of_error(error))
            }
            Message::Notification { method, params } => {
                let is_quoted = CLIENT_NOTIFICATIONS.contains(&method);
                if !is_quoted {
                    self.receive_notification(method, params);
                }
                !is_quoted
            }
            Message::Request { id, method, params } => {
                // Both sides count from one; only `ping` is asked by both.
                let is_ours = method == "ping" && self.has_sent(id);
                let is_quoted = is_ours || !SERVER_REQUESTS.contains(&method);
                if !is_quoted {
                    self.answer(id, method, params);
                }
                !is_quoted
            }
            Message::Invalid { .. } => false,
        };
        match message {
            _ if !is_settled => Recovered::Quoted,
            Message::Response {
                id: Id::Number(id), ..
            }
            | Message::Error {
                id: Id::Number(id), ..
            } => Recovered::Reply(id),
            _ => Recovered::Other,
        }
    }

    fn has_sent(&self, id: Id<'_>) -> bool {
        matches!(id, Id::Number(number) if (1..self.lock().next_id).contains(&number))
    }

    /// Whether a reply that nobody waits for is the proper form of one that was taken from a frame that was not; false
    /// if it is a second answer.
    pub fn explains_repair(&self, id: u64) -> bool {
        let mut state = self.lock();
        match state.repaired.remove(&id) {
            None => return false,
            Some(Repaired::Broken) => {}
            // What was taken for the reply was a log line that quotes it.
            Some(Repaired::Recovered(place)) => {
                let (garbled, noise) = (ViolationKind::GarbledReply, ViolationKind::Noise);
                state.violations.reclassify(place, garbled, noise);
            }
        }
        true
    }
}

impl State {
    fn remember_repaired(&mut self, id: u64, how: Repaired) {
        if self.repaired.len() < REMEMBERED_MAX {
            self.repaired.insert(id, how);
        }
    }
}

/// Whether it begins like JSON and has something of a message, rather than being a line for people.
fn is_piece_of_message(frame: &[u8]) -> bool {
    let start = frame.trim_ascii_start();
    let fragment = protocol::outline(start);
    let begins_like_json = matches!(start.first(), Some(b'{' | b'"'));
    let has_keys = fragment.id.is_some() || fragment.has_method || fragment.has_outcome;
    begins_like_json && (has_keys || memchr::memmem::find(start, b"\"jsonrpc\"").is_some())
}

/// Whether there is more than white space around these places.
fn has_text_around(frame: &[u8], places: &[Range<usize>]) -> bool {
    let starts = [0].into_iter().chain(places.iter().map(|place| place.end));
    let ends = places.iter().map(|place| place.start).chain([frame.len()]);
    starts.zip(ends).any(|(start, end)| {
        let between = frame.get(start..end).unwrap_or_default();
        !between.trim_ascii().is_empty()
    })
}
