//! What arrives: the answers to struck calls go to their faults, everything else passes.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use mcprove_client::transport::{Failure, Inbox};
use mcprove_trace::protocol::{Envelope, Id, Message, split_batch};
use serde_json::{Map, Value};

use super::shared::Shared;

/// The inbox that the channel within delivers to.
pub(super) struct FaultyInbox(pub Arc<Shared>);

impl FaultyInbox {
    fn deliver_batch(&self, frame: Bytes) {
        let is_expected = |member: &&str| {
            let id = answered_id(member.as_bytes());
            id.is_some_and(|id| self.0.is_waiting(id))
        };
        match split_batch(&frame) {
            Some(members) if members.iter().any(is_expected) => {
                for member in members {
                    self.deliver_message(frame.slice_ref(member.as_bytes()));
                }
            }
            _ => self.0.inbox().deliver(frame),
        }
    }

    fn deliver_message(&self, frame: Bytes) {
        let Some(id) = answered_id(&frame) else {
            self.0.inbox().deliver(frame);
            return;
        };
        if let Some(waiter) = self.0.take_waiter(id) {
            // The fault may have been called off just now; then nobody wants the answer.
            let _ = waiter.send(frame);
        } else if self.0.take_list(id) {
            let shortened = self.without_hidden(&frame);
            self.0.inbox().deliver(shortened.unwrap_or(frame));
        } else {
            self.0.inbox().deliver(frame);
        }
    }

    /// The list without the tools that have vanished; `None` where it holds none.
    fn without_hidden(&self, frame: &Bytes) -> Option<Bytes> {
        let mut message: Map<String, Value> = serde_json::from_slice(frame).ok()?;
        let tools = message
            .get_mut("result")?
            .get_mut("tools")?
            .as_array_mut()?;
        let now = Instant::now();
        tools.retain(|tool| {
            let name = tool.get("name").and_then(Value::as_str);
            name.is_none_or(|name| !self.0.injector.hides(name, now))
        });
        Some(Value::Object(message).to_string().into())
    }
}

impl Inbox for FaultyInbox {
    fn deliver(&self, frame: Bytes) {
        if self.0.expects_nothing() {
            self.0.inbox().deliver(frame);
            return;
        }
        let first = frame.iter().find(|byte| !byte.is_ascii_whitespace());
        if first == Some(&b'[') {
            self.deliver_batch(frame);
        } else {
            self.deliver_message(frame);
        }
    }

    fn is_waiting(&self, id: u64) -> bool {
        self.0.is_waiting(id)
    }

    fn fail(&self, request: Option<u64>, failure: Failure) {
        if let Some(id) = request {
            // No answer comes; the fault has nothing to act on any more.
            drop(self.0.take_waiter(id));
        }
        self.0.inbox().fail(request, failure);
    }

    fn answer_raw(&self, answer: Result<Bytes, Failure>) {
        self.0.inbox().answer_raw(answer);
    }

    fn closed(&self, failure: Failure) {
        self.0.close(failure);
    }
}

/// The request that a message answers.
fn answered_id(frame: &[u8]) -> Option<u64> {
    let envelope = Envelope::parse(frame).ok()?;
    match envelope.classify() {
        Message::Response {
            id: Id::Number(id), ..
        }
        | Message::Error {
            id: Id::Number(id), ..
        } => Some(id),
        _ => None,
    }
}
