//! What becomes of what clients post: it passes, goes nowhere, or meets a fault.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use mcprove_recording::{Peer, RecordedRequest};

use super::hub::{CallKey, Hub};
use super::look::{Asked, Look};
use super::sessions::Session;
use crate::faulted::StruckCall;
use crate::message::{IdKey, Seen, cancelled_id};
use crate::watch::{Fate, Request};

/// What becomes of something that a client posts.
pub(super) enum Decision {
    /// It goes on; of the answer this is wanted.
    Pass(Option<Look>),
    /// It goes nowhere, and the client is thanked.
    Accept,
    /// A fault strikes it.
    Strike(CallKey, Box<StruckCall>),
}

impl Hub {
    /// Looks at what a client posts.
    pub fn decide(self: &Arc<Self>, parts: &Parts, body: &Bytes) -> Decision {
        match Seen::of(body) {
            Seen::Request { id, method, params } => {
                let method = &*method;
                self.decide_request(parts, body, Request { id, method, params })
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
            Seen::Batch => Decision::Pass(self.look_into_batch(parts, body)),
            Seen::Other => Decision::Pass(None),
        }
    }

    fn decide_request(
        self: &Arc<Self>,
        parts: &Parts,
        body: &Bytes,
        request: Request<'_>,
    ) -> Decision {
        let is_listing = request.method == "tools/list";
        let is_opening = request.method == "initialize";
        let session = self.session(parts, is_opening);
        let fate = self.watch.request(
            (session.number, session.recorded.as_ref()),
            request,
            || self.struck.has_room(body.len()),
            || body.clone(),
        );
        let recorded = match fate {
            Fate::Passes(recorded) => recorded,
            Fate::Struck(struck) => {
                let key = self.asked(&session, request.id, struck.recorded.as_ref());
                return Decision::Strike(key, struck);
            }
        };
        let key = self.asked(&session, request.id, recorded.as_ref());
        self.struck.forget(&key);
        let is_wanted = recorded.is_some() || is_listing || is_opening;
        Decision::Pass(is_wanted.then(|| Look {
            asked: vec![Asked {
                id: key.1,
                recorded,
            }],
            is_listing,
            is_opening,
            session,
        }))
    }

    /// Names a request; one that is written down is open from now on.
    fn asked(&self, session: &Session, id: &str, recorded: Option<&RecordedRequest>) -> CallKey {
        let key = (Arc::clone(&session.name), IdKey::new(id));
        if let Some(recorded) = recorded {
            self.opened(key.clone(), recorded);
        }
        key
    }

    /// Batches pass as they are; what is asked in them, and how it is answered, is written down.
    fn look_into_batch(&self, parts: &Parts, body: &[u8]) -> Option<Look> {
        let session = self.session(parts, false);
        let mut asked = Vec::new();
        let within = (session.number, session.recorded.as_ref());
        self.watch.batch(within, body, |id, recorded| {
            let (_, id) = self.asked(&session, id, recorded.as_ref());
            asked.extend(recorded.map(|recorded| Asked {
                id,
                recorded: Some(recorded),
            }));
        });
        (!asked.is_empty()).then_some(Look {
            asked,
            is_listing: false,
            is_opening: false,
            session,
        })
    }
}
