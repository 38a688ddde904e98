//! A session while one test uses it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use super::{Connected, Pool};
use crate::protocol::Tool;
use crate::session::Session;

/// A session while one test uses it.
pub(crate) struct Lease<'a> {
    pool: &'a Pool,
    connected: Arc<Connected>,
    afterwards: Afterwards,
    /// How many leases there had been of this session, this one included.
    number: u64,
    /// Whether others had one when this began.
    began_in_company: bool,
}

/// What becomes of a session when the test is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Afterwards {
    /// Others use it too.
    Keep,
    /// It waits for the next who wants one to itself.
    PutBack,
    /// It ends.
    End,
}

/// Who uses a session.
#[derive(Debug, Default)]
pub(super) struct Company {
    now: AtomicU64,
    ever: AtomicU64,
    is_spoilt: AtomicBool,
}

impl Company {
    pub(super) fn is_spoilt(&self) -> bool {
        self.is_spoilt.load(Ordering::Relaxed)
    }
}

impl<'a> Lease<'a> {
    pub(super) fn new(pool: &'a Pool, connected: Arc<Connected>, afterwards: Afterwards) -> Self {
        let before = connected.company.now.fetch_add(1, Ordering::SeqCst);
        let number = connected.company.ever.fetch_add(1, Ordering::SeqCst) + 1;
        Self {
            pool,
            connected,
            afterwards,
            number,
            began_in_company: before > 0,
        }
    }

    /// The session.
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.connected.session
    }

    /// The session with its tools.
    pub(crate) fn connected(&self) -> &Connected {
        &self.connected
    }

    /// The tool of this name, where the server lists it.
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        let tools = self.connected.tools.as_ref().ok()?;
        tools.iter().find(|tool| tool.name == name)
    }

    /// Whether another test used the session at any time since this lease began.
    pub(crate) fn had_company(&self) -> bool {
        let ever = self.connected.company.ever.load(Ordering::SeqCst);
        self.began_in_company || ever > self.number
    }

    /// Nobody shall get this session any more: it hung, died, or is in an unknown state.
    pub(crate) fn spoil(&self) {
        self.connected
            .company
            .is_spoilt
            .store(true, Ordering::Relaxed);
    }

    /// Ends the lease: a session that was for this test alone is ended in an orderly way, or kept for the
    /// next.
    pub(crate) async fn done(self) {
        match self.afterwards {
            Afterwards::PutBack if self.connected.is_fit() => {
                let idle = self.pool.idle.lock();
                let mut idle = idle.unwrap_or_else(PoisonError::into_inner);
                idle.push(Arc::clone(&self.connected));
            }
            // One that is of no use is not waited for.
            Afterwards::End if self.connected.is_fit() => {
                self.connected.session.end().await;
            }
            Afterwards::Keep | Afterwards::PutBack | Afterwards::End => {}
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.connected.company.now.fetch_sub(1, Ordering::SeqCst);
    }
}
