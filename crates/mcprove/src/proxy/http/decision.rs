//! What becomes of what clients post: it passes, goes nowhere, or meets a fault.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;

use super::faulted::StruckRequest;
use super::hub::Hub;
use super::look::Look;
use crate::protocol::split_batch;
use crate::proxy::message::{IdKey, Seen, ToolCall, cancelled_id};
use crate::recording::Peer;

/// What becomes of something that a client posts.
pub(super) enum Decision {
    /// It goes on; of the answer this is wanted.
    Pass(Option<Look>),
    /// It goes nowhere, and the client is thanked.
    Accept,
    /// A fault strikes it.
    Strike(Box<dyn FnOnce(Parts, Bytes) -> StruckRequest + Send>),
}

impl Hub {
    /// Looks at what a client posts.
    pub fn decide(self: &Arc<Self>, parts: &Parts, body: &Bytes) -> Decision {
        match Seen::of(body) {
            Seen::Request { id, method, params } => {
                self.decide_request(parts, body.len(), id, &method, params)
            }
            Seen::Notification { method, params } => {
                let session = self.session(parts, false);
                if let Some(recorded) = &session.recorded {
                    recorded.notification(Peer::Client, &method, params);
                }
                let cancelled = (method == "notifications/cancelled")
                    .then(|| cancelled_id(params))
                    .flatten();
                if let Some(id) = cancelled {
                    let key = (Arc::clone(&session.name), id);
                    match self.struck.cancel(&key, &self.watch.journal) {
                        Some(false) => return Decision::Accept,
                        Some(true) => {}
                        None => self.cancel_unstruck(&key),
                    }
                }
                Decision::Pass(None)
            }
            Seen::Answer { id } => {
                if let Some(recorded) = &self.session(parts, false).recorded {
                    recorded.client_reply(id);
                }
                Decision::Pass(None)
            }
            Seen::Batch => {
                self.look_into_batch(parts, body);
                Decision::Pass(None)
            }
            Seen::Other => Decision::Pass(None),
        }
    }

    fn decide_request(
        self: &Arc<Self>,
        parts: &Parts,
        bytes: usize,
        id: &str,
        method: &str,
        params: &str,
    ) -> Decision {
        let session = self.session(parts, method == "initialize");
        let recorded = session.recorded.as_ref();
        let recorded = recorded.map(|session| session.request(id, method, params));
        let key = (Arc::clone(&session.name), IdKey::new(id));
        if let Some(recorded) = &recorded {
            self.opened(key.clone(), recorded);
        }
        if method == "tools/call"
            && let Some(call) = ToolCall::parse(id, params)
        {
            let has_room = self.struck.has_room(bytes);
            let (injection, page) = self.watch.call(session.number, &call, has_room);
            if let Some(injection) = injection {
                if let Some(recorded) = &recorded {
                    recorded.strike(&injection, &self.watch.server_name);
                }
                return Decision::Strike(Box::new(move |parts, body| StruckRequest {
                    parts,
                    body,
                    call,
                    injection,
                    page,
                    recorded,
                    session,
                }));
            }
        }
        self.struck.forget(&key);
        let is_listing = method == "tools/list";
        let is_opening = method == "initialize";
        let is_wanted = recorded.is_some() || is_listing || is_opening;
        Decision::Pass(is_wanted.then_some(Look {
            id: key.1,
            recorded,
            is_listing,
            is_opening,
            session,
        }))
    }

    /// Batches pass as they are; what is asked in them is written down.
    fn look_into_batch(&self, parts: &Parts, body: &[u8]) {
        let session = self.session(parts, false);
        let mut has_calls = false;
        for member in split_batch(body).unwrap_or_default() {
            let Seen::Request { id, method, params } = Seen::of(member.as_bytes()) else {
                continue;
            };
            has_calls |= method == "tools/call";
            if let Some(recorded) = &session.recorded {
                // Its answer is in a batch, and not looked for.
                recorded.request(id, &method, params);
            }
        }
        if has_calls && !self.watch.injector.is_idle() {
            let remark = "a batch with calls passed untouched: faults do not look into batches";
            self.watch.journal.remark(remark);
        }
    }
}
