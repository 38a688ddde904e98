//! Calls that end without an answer: cancelled by the caller, overdue, or cut off.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use mcprove_score::trace::{ErrorCategory, EventKind};
use serde_json::json;

use super::call::{CallError, FailedCall};
use super::conclusion::Ending;
use super::core::Core;
use super::request::Label;
use super::violation::ViolationKind;
use crate::protocol::{Era, Revision};
use crate::quantity::describe_duration;
use crate::transport::Failure;

/// How long the watchdog sleeps at most, so that it notices when its session is gone.
const WATCH_SLICE: Duration = Duration::from_millis(250);

impl Core {
    /// Gives up call `id`: tells the server, and forgets it.
    pub(super) fn cancel(&self, id: u64, reason: &str) {
        let mut state = self.lock();
        let Some(waiting) = state.waiting.remove(&id) else {
            return;
        };
        if waiting.outcome.is_some() {
            return;
        }
        state.remember_abandoned(id);
        let is_open = state.closed.is_none();
        let era = state.revision.map(Revision::era);
        drop(state);
        let now = Instant::now();
        let duration = now.saturating_duration_since(waiting.sent);
        let failure = Failure::new(ErrorCategory::Cancelled, reason);
        let error = CallError::from(FailedCall {
            failure,
            request_id: id,
            duration,
            reply: None,
            error: None,
        });
        self.emit_error(&waiting.label, &error, now);
        if is_open {
            self.tell_cancelled(id, &waiting.label, era, reason);
        }
    }

    /// Tells the server that the answer to `id` is no longer wanted: by closing the stream in the
    /// stateless era of HTTP, by a notification everywhere else.
    fn tell_cancelled(&self, id: u64, label: &Label, era: Option<Era>, reason: &str) {
        let Some(channel) = self.channel.get() else {
            return;
        };
        // The opening questions cannot be cancelled; only their stream can be let go.
        let is_opening = matches!(label.method.as_str(), "initialize" | "server/discover");
        let closes_stream = era == Some(Era::Stateless) && channel.name() == "http";
        if !is_opening && !closes_stream {
            let params = json!({ "requestId": id, "reason": reason });
            self.notify("notifications/cancelled", Some(&params));
        }
        // A server need not answer what was cancelled: a stream kept open for it would take the
        // place of another call, perhaps for ever.
        channel.abandon(id);
    }

    /// Ends every call in flight: the channel is gone.
    pub(super) fn close_with(&self, failure: &Failure) {
        let mut state = self.lock();
        if state.closed.is_none() {
            state.closed = Some(failure.clone());
        }
        let ids: Vec<u64> = state
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.outcome.is_none())
            .map(|(id, _)| *id)
            .collect();
        drop(state);
        if failure.category == ErrorCategory::Crash && self.recorder.is_observed() {
            self.recorder.record(
                Instant::now(),
                EventKind::Crash {
                    message: &failure.message,
                },
            );
        }
        for id in ids {
            self.settle(id, Ending::Failure(failure.clone()));
        }
    }

    /// Ends the calls whose deadline has passed; returns when to look again.
    fn expire(&self, now: Instant) -> Option<Instant> {
        let mut state = self.lock();
        let mut next: Option<Instant> = None;
        let mut expired = Vec::new();
        for (id, waiting) in &state.waiting {
            let Some(deadline) = waiting.deadline.filter(|_| waiting.outcome.is_none()) else {
                continue;
            };
            if deadline <= now {
                expired.push((*id, Arc::clone(&waiting.label), deadline - waiting.sent));
            } else {
                next = Some(next.map_or(deadline, |next| next.min(deadline)));
            }
        }
        for (id, ..) in &expired {
            state.remember_abandoned(*id);
        }
        state.wake_at = next;
        let era = state.revision.map(Revision::era);
        drop(state);
        for (id, label, waited) in expired {
            let message = format!("no answer within {}", describe_duration(waited));
            self.settle(
                id,
                Ending::Failure(Failure::new(ErrorCategory::Timeout, message)),
            );
            self.tell_cancelled(id, &label, era, "timed out");
        }
        next
    }

    /// Counts an answer that nobody waits for as what it is.
    pub(super) fn note_stray_reply(&self, id: u64) {
        let mut state = self.lock();
        if state.abandoned.remove(&id) {
            state.late_replies += 1;
        } else if id < state.next_id && id > 0 {
            state.violations.add(
                ViolationKind::DuplicateReply,
                format!("request {id} was answered more than once"),
            );
        } else {
            state.violations.add(
                ViolationKind::UnknownReply,
                format!("an answer to request {id}, which was never sent"),
            );
        }
    }
}

/// Sleeps until the earliest deadline, ends what is overdue, and starts over; ends with the core.
pub(super) async fn watch_deadlines(core: Weak<Core>) {
    loop {
        let Some(strong) = core.upgrade() else { return };
        let slice = Instant::now() + WATCH_SLICE;
        let until = strong
            .expire(Instant::now())
            .map_or(slice, |next| next.min(slice));
        let watchdog = Arc::clone(&strong.watchdog);
        drop(strong);
        // Either way there is a reason to look again.
        let _ = tokio::time::timeout_at(until.into(), watchdog.notified()).await;
    }
}
