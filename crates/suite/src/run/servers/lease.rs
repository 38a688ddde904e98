//! A session while one test uses it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mcprove_check::pulse::AfterAnswer;
use mcprove_client::session::Session;
use mcprove_client::transport::Failure;
use mcprove_trace::protocol::Tool;

use super::remarks::{of_violations, silence};
use super::{Connected, Pool};
use mcprove_settings::sync::lock;

/// A session while one test uses it.
pub struct Lease<'a> {
    pool: &'a Pool,
    connected: Arc<Connected>,
    afterwards: Afterwards,
    /// How many leases there had been of this session, this one included.
    number: u64,
    /// Whether others had one when this began.
    began_in_company: bool,
    /// How often the server had broken the protocol when this began.
    violations: usize,
    /// How much had been declined when this began.
    declined: u64,
    /// Whether `ping` was left unanswered after the call.
    is_silent: AtomicBool,
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
    hurt: AtomicU64,
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
            afterwards,
            number,
            began_in_company: before > 0,
            violations: connected.session.violations().first.len(),
            declined: connected.declined.count(),
            is_silent: AtomicBool::new(false),
            connected,
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

    /// The call of this test ended with the session, or hung: nobody shall get it any more.
    pub(crate) fn hurt(&self) {
        self.connected.company.hurt.fetch_add(1, Ordering::SeqCst);
        self.spoil();
    }

    /// Whether another test may be to blame that this one was hurt: one that uses the session now, or was
    /// hurt too.
    pub(crate) fn shares_blame(&self) -> bool {
        let company = &self.connected.company;
        company.now.load(Ordering::SeqCst) > 1 || company.hurt.load(Ordering::SeqCst) > 1
    }

    /// What the server asked for during this lease and did not get.
    pub(crate) fn declined(&self) -> Option<String> {
        self.connected.declined.since(self.declined)
    }

    /// What a reader should know of the session, and of what the server did during this lease.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let violations = self.connected.session.violations().first;
        let new = violations.get(self.violations..).unwrap_or_default();
        let mut remarks = self.connected.remarks.clone();
        remarks.extend(of_violations(new));
        if self.is_silent.load(Ordering::Relaxed) {
            remarks.push(silence());
        }
        remarks
    }

    /// How the server came to its end after what it answered, if it did and that shows in the session.
    pub(crate) async fn end_after_answer(&self) -> Option<Failure> {
        let session = &self.connected.session;
        let is_alone = !self.had_company();
        match self.pool.pulse.after_answer(session, is_alone).await {
            AfterAnswer::Alive => None,
            AfterAnswer::Silent => {
                self.is_silent.store(true, Ordering::Relaxed);
                None
            }
            AfterAnswer::Ended(end) => Some(end),
        }
    }

    /// Whether the server, which left a call unanswered, still answers `ping`; none where it never does.
    pub(crate) async fn is_alive(&self, limit: Duration) -> Option<bool> {
        let pulse = &self.pool.pulse;
        pulse.is_alive(&self.connected.session, limit).await
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
                lock(&self.pool.idle).push(Arc::clone(&self.connected));
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
