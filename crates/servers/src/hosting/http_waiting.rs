//! A client that waits for an answer over HTTP, and may leave before it comes.

use mcprove_trace::protocol::Era;
use serde_json::Value;
use tokio::task::AbortHandle;

use super::dispatch::{self, Peer, Started};
use super::exchange::Ending;
use super::session::Session;

/// Gives up the work on a request when whoever waits for it is gone.
pub struct Waiting {
    /// The work, once it has begun.
    pub work: Option<Started>,
    cancels: Option<Cancels>,
}

/// What leaving cancels.
struct Cancels {
    peer: Peer,
    ids: Vec<Value>,
    is_batch: bool,
    era: Era,
}

impl Waiting {
    pub fn new(peer: &Peer, message: &Value, era: Era) -> Self {
        let id = |message: &Value| message.get("id").cloned();
        let ids = match message {
            Value::Array(messages) => messages.iter().filter_map(id).collect(),
            message => id(message).into_iter().collect(),
        };
        let cancels = Cancels {
            peer: peer.clone(),
            ids,
            is_batch: message.is_array(),
            era,
        };
        Self {
            work: None,
            cancels: Some(cancels),
        }
    }

    /// Whether there will be no answer because the client wants none: it cancelled the request, or
    /// closed its session.
    pub fn is_unwanted(&self, session: &Session) -> bool {
        let ended = self.work.as_ref().and_then(|work| work.ended.get());
        ended.is_some_and(|how| how.is_unwanted()) || session.is_closed()
    }

    /// Notes an answer; after the last one, leaving cancels nothing.
    pub fn note(&mut self, ending: Ending) {
        if ending.is_final() {
            self.cancels = None;
        }
        if ending == Ending::Parked {
            self.work = None;
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(work) = &self.work else {
            return;
        };
        let is_shielded = self
            .cancels
            .as_ref()
            .is_some_and(|cancels| cancels.cancel(&work.task));
        if !is_shielded {
            work.task.abort();
        }
    }
}

impl Cancels {
    /// Cancels everything that was asked for, and says whether any of it goes on all the same.
    fn cancel(&self, work: &AbortHandle) -> bool {
        // Somebody else may wait for another request with the same id. The work on a batch is only
        // what waits for its answers.
        let which = (!self.is_batch).then(|| work.id());
        let in_flight = self.peer.session.in_flight();
        let is_shielded = self.ids.iter().any(|id| in_flight.is_shielded(id, which));
        let how = self.peer.host.why_closed();
        for id in &self.ids {
            match self.era {
                // Over HTTP, this is how a client of this era cancels.
                Era::Stateless => dispatch::cancel(&self.peer, id, which, how),
                // Nobody is left to answer, though nobody said that the work is unwanted.
                Era::Handshake => {
                    in_flight.cancel(id, which, how);
                }
            }
        }
        is_shielded
    }
}
