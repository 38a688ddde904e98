//! What becomes of what clients post: it passes, goes nowhere, or meets a fault.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use mcprove_recording::{Peer, RecordedRequest};

use super::hub::{CallKey, Hub};
use super::observer::ResponseObserver;
use super::sessions::Session;
use crate::faulted::FaultedRequest;
use crate::message::{IdKey, Request, Seen};
use crate::watch::Fate;

/// What becomes of something that a client posts.
pub enum Decision {
    /// It goes on; of the answer this is wanted.
    Pass(Option<ResponseObserver>),
    /// It goes nowhere, and the client is thanked.
    Accept,
    /// A fault strikes it.
    Strike(CallKey, Box<FaultedRequest>),
}

impl Hub {
    /// Looks at what a client posts.
    pub fn decide(self: &Arc<Self>, parts: &Parts, body: &Bytes) -> Decision {
        let seen = Seen::of(body);
        let is_opening = match &seen {
            Seen::Other => return Decision::Pass(None),
            Seen::Request(request) => request.method == "initialize",
            _ => false,
        };
        let session = self.session(parts, is_opening);
        seen.note(Peer::Client, session.recorded.as_ref());
        if let Some(id) = seen.cancelled() {
            let key = (Arc::clone(&session.name), id);
            match self.faulted.cancel(&key) {
                Some(false) => return Decision::Accept,
                Some(true) => {}
                None => self.cancel_unfaulted(&key),
            }
        }
        match seen {
            Seen::Request(request) => self.decide_request(session, body, &request, is_opening),
            Seen::Batch => Decision::Pass(self.look_into_batch(session, body)),
            _ => Decision::Pass(None),
        }
    }

    fn decide_request(
        self: &Arc<Self>,
        session: Session,
        body: &Bytes,
        request: &Request<'_>,
        is_opening: bool,
    ) -> Decision {
        let is_listing = request.method == "tools/list";
        let fate = self.watch.request(
            (session.number, session.recorded.as_ref()),
            request,
            || self.faulted.has_room(body.len()),
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
        self.faulted.forget(&key);
        let is_wanted = recorded.is_some() || is_listing || is_opening;
        Decision::Pass(is_wanted.then(|| ResponseObserver {
            asked: vec![(key.1, recorded)],
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
    fn look_into_batch(&self, session: Session, body: &[u8]) -> Option<ResponseObserver> {
        let mut asked = Vec::new();
        let within = (session.number, session.recorded.as_ref());
        self.watch.batch(within, body, |id, recorded| {
            let (_, id) = self.asked(&session, id, recorded.as_ref());
            asked.extend(recorded.map(|recorded| (id, Some(recorded))));
        });
        (!asked.is_empty()).then_some(ResponseObserver {
            asked,
            is_listing: false,
            is_opening: false,
            session,
        })
    }
}
