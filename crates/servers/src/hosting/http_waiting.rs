//! A client that waits for an answer over HTTP, and may leave before it comes.

use crate::prelude::*;

/// Gives up the work on a request when whoever waits for it is gone.
pub struct Waiting {
    /// The work, once it has begun.
    pub work: Option<Started>,
    host: Arc<Host>,
    session: Arc<Session>,
    ids: Vec<Value>,
    is_batch: bool,
    era: Era,
    is_answered: bool,
}

impl Waiting {
    pub fn new(peer: &Peer, message: &Value, era: Era) -> Self {
        let messages = message.as_array();
        let messages = messages.map_or(std::slice::from_ref(message), Vec::as_slice);
        let ids = messages.iter().filter_map(|one| one.get("id").cloned());
        Self {
            work: None,
            host: Arc::clone(&peer.host),
            session: Arc::clone(&peer.session),
            ids: ids.collect(),
            is_batch: message.is_array(),
            era,
            is_answered: false,
        }
    }

    /// Whether there will be no answer because the client wants none: it cancelled the request, or
    /// closed its session.
    pub fn is_unwanted(&self) -> bool {
        let ended = self.work.as_ref().and_then(|work| work.ended.get());
        ended.is_some_and(|how| how.is_unwanted()) || self.session.is_closed()
    }

    /// Notes an answer; after the last one, leaving cancels nothing.
    pub fn note(&mut self, ending: Ending) {
        self.is_answered |= ending.is_final();
        if ending == Ending::Parked {
            self.work = None;
        }
    }

    /// Cancels everything that was asked for, and says whether any of it goes on all the same.
    fn cancel(&self, work: &Started) -> bool {
        // Somebody else may wait for another request with the same id. The work on a batch is only
        // what waits for its answers.
        let which = (!self.is_batch).then(|| work.task.id());
        let how = self.host.why_closed();
        let go_on = self.ids.iter().filter(|id| match self.era {
            // Over HTTP, this is how a client of this era cancels.
            Era::Stateless => self.host.cancel(&self.session, id, which, how),
            // Nobody is left to answer, though nobody said that the work is unwanted.
            Era::Handshake => self.session.in_flight.cancel(id, which, how).1,
        });
        go_on.count() > 0
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(work) = &self.work
            && (self.is_answered || !self.cancel(work))
        {
            work.task.abort();
        }
    }
}
