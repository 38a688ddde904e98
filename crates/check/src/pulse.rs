//! Whether a server lives, as far as `ping` says it. The protocol asks every server to answer it, but not all
//! do: so one that leaves it unanswered is not taken for dead, is not asked for ever, and then only the end of
//! its connection counts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::prelude::*;

/// How long a server may take to show that it outlived a call.
pub const OUTLIVE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a server may take to show that it answers `ping` at all.
pub(crate) const FIRST_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a server may leave `ping` unanswered before it is not asked any more.
const UNANSWERED_MAX: u64 = 3;
/// How often a connection is looked at while its end may be near.
const GLANCE: Duration = Duration::from_millis(10);
/// How long the end of a connection is waited for where `ping` says nothing.
const SETTLE: Duration = Duration::from_millis(50);

/// What is known of how a server answers `ping`.
#[derive(Debug, Default)]
pub struct Pulse {
    has_answered: AtomicBool,
    unanswered: AtomicU64,
}

/// What a server did after it had answered a call.
#[derive(Debug)]
pub enum AfterAnswer {
    /// It goes on, as far as can be seen.
    Alive,
    /// It left `ping` unanswered, and its connection is there.
    Silent,
    /// It is gone.
    Ended(Failure),
}

impl Pulse {
    /// Whether the server answers; none while that is not known.
    pub fn is_answered(&self) -> Option<bool> {
        if self.unanswered.load(Ordering::Relaxed) >= UNANSWERED_MAX {
            Some(false)
        } else {
            self.has_answered.load(Ordering::Relaxed).then_some(true)
        }
    }

    /// Finds out whether the server answers, unless that is known. Nothing else may go on in the session.
    pub(crate) async fn find_out(&self, session: &Session, limit: Duration) -> bool {
        if let Some(known) = self.is_answered() {
            return known;
        }
        let is_answered = session.check_alive(limit).await.is_ok();
        self.note(is_answered, UNANSWERED_MAX);
        is_answered
    }

    /// Whether the server, which left a call unanswered, answers this; none where it is not asked, because it
    /// answers in no case.
    pub async fn is_alive(&self, session: &Session, limit: Duration) -> Option<bool> {
        if self.is_answered() == Some(false) {
            return None;
        }
        let is_alive = session.check_alive(limit).await.is_ok();
        if is_alive {
            self.note(true, 0);
        }
        Some(is_alive)
    }

    /// Whether the server outlived what it answered, as far as that shows in the session. Since it takes a
    /// moment until it shows, the server is asked something that it answers only if it lives. `is_alone` is
    /// whether nothing else went on in the session, which might keep it from answering.
    pub async fn after_answer(&self, session: &Session, is_alone: bool) -> AfterAnswer {
        if !shows_its_end(session) {
            return AfterAnswer::Alive;
        }
        if self.is_answered() == Some(false) {
            let end = end_within(session, SETTLE).await;
            return end.map_or(AfterAnswer::Alive, AfterAnswer::Ended);
        }
        if let Some(end) = session.closed() {
            return AfterAnswer::Ended(end);
        }
        let is_answered = session.check_alive(OUTLIVE_TIMEOUT).await.is_ok();
        if let Some(end) = session.closed() {
            return AfterAnswer::Ended(end);
        }
        let is_clear = is_alone && self.is_answered().is_none();
        self.note(is_answered, if is_clear { UNANSWERED_MAX } else { 1 });
        if is_answered {
            AfterAnswer::Alive
        } else {
            AfterAnswer::Silent
        }
    }

    fn note(&self, is_answered: bool, weight: u64) {
        if is_answered {
            self.has_answered.store(true, Ordering::Relaxed);
            self.unanswered.store(0, Ordering::Relaxed);
        } else {
            self.unanswered.fetch_add(weight, Ordering::Relaxed);
        }
    }
}

/// Whether a session shows that its server is gone: where each request has a connection of its own, it does not.
fn shows_its_end(session: &Session) -> bool {
    !matches!(session.transport(), "http" | "sse")
}

/// How the connection ended, if it does so within this time.
pub(crate) async fn end_within(session: &Session, limit: Duration) -> Option<Failure> {
    if !shows_its_end(session) {
        return session.closed();
    }
    let ended = async {
        while session.closed().is_none() {
            tokio::time::sleep(GLANCE).await;
        }
    };
    let _ = tokio::time::timeout(limit, ended).await;
    session.closed()
}
