//! Calls that end without an answer: cancelled by the caller, overdue, or cut off.

use mcprove_settings::setting::in_seconds;
use mcprove_trace::hang::{Unanswered, WaitState, judge_wait};

use super::prelude::*;
use crate::transport::Detail;

/// How long the watchdog sleeps at most, so that it notices when its session is gone.
const WATCH_SLICE: Duration = Duration::from_millis(250);

/// A call of this tool was given up without an answer, while others were answered: it was queued, or is stuck.
#[in_seconds]
#[stored]
pub struct QueuedFact {
    /// The tool.
    pub tool: String,
    /// The session.
    pub session: u32,
    /// How long it was waited for.
    pub waited: Duration,
}

impl Fact for QueuedFact {
    const NAME: &'static str = "queued";
}

impl Core {
    /// Gives up call `id`: tells the server, and forgets it.
    pub fn cancel(&self, id: u64, reason: &str) {
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
        let failure = Failure::cancelled(reason);
        let error = CallError::sent(failure, id, duration);
        self.emit_error(&waiting.label, &error, waiting.tag, now);
        if is_open {
            self.send_cancelled(id, &waiting.label, era, reason);
        }
    }

    /// Tells the server that the answer to `id` is no longer wanted: by closing the stream in the
    /// stateless era of HTTP, by a notification everywhere else.
    fn send_cancelled(&self, id: u64, label: &Label, era: Option<Era>, reason: &str) {
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
    pub fn close_with(&self, failure: &Failure) {
        if let Some(limit) = failure.own_limit() {
            self.recorder.meet_limit(limit);
        }
        let mut state = self.lock();
        state.closed.get_or_insert_with(|| failure.clone());
        let ids: Vec<u64> = state.unanswered().collect();
        state.raw.give_up();
        // One that dies before the agreement never was a session.
        let is_crash = failure.category == ErrorCategory::Crash
            && failure.own_limit().is_none()
            && !state.is_ending
            && state.revision.is_some();
        drop(state);
        if is_crash {
            let message = &failure.message;
            self.record(Instant::now(), EventKind::Crash { message });
        }
        for id in ids {
            self.settle(id, Ending::Failure(failure.clone()));
        }
    }

    /// Notes the calls that hang, ends those whose time is up; returns when to look again.
    fn expire(&self, now: Instant) -> Option<Instant> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let in_flight = state.unanswered().count() as u64;
        let answered = state.answered;
        let mut next: Option<Instant> = None;
        let mut expired = Vec::new();
        for (id, waiting) in &mut state.waiting {
            if waiting.outcome.is_some() {
                continue;
            }
            let watch = self.watch(waiting, answered, now);
            if waiting.hung.is_none() && watch.hangs_at.is_some_and(|time| time <= now) {
                let tool = waiting.tool.as_ref();
                waiting.hung = tool.map(|tool| tool.mark(answered, in_flight));
                self.emit_hang(*id, now.saturating_duration_since(waiting.sent), false);
            }
            match watch.end {
                Some((time, end)) if time <= now => {
                    let mut waited = time.saturating_duration_since(waiting.sent);
                    // What was lost does not count as waiting for a server that is stuck.
                    if let (End::Stuck | End::Overtaken, Some(limits)) =
                        (end, &self.options.hang_limits)
                    {
                        let lost = self.progress.lost.total().saturating_sub(waiting.lost);
                        waited = waited.saturating_sub(lost).max(limits.judged_after());
                    }
                    expired.push((*id, Arc::clone(&waiting.label), end, waited));
                }
                _ => {
                    let hang = watch.hangs_at.filter(|_| waiting.hung.is_none());
                    let end = watch.end.map(|(time, _)| time);
                    next = earliest(next, earliest(hang, earliest(end, watch.again_at)));
                }
            }
        }
        for (id, ..) in &expired {
            state.remember_abandoned(*id);
        }
        state.wake_at = next;
        let era = state.revision.map(Revision::era);
        drop(guard);
        for (id, label, end, waited) in expired {
            let mut message = format!("no answer within {}", describe_duration(waited));
            let category = match end {
                End::Stuck | End::Overtaken => ErrorCategory::Deadlock,
                End::Queued | End::Overdue => ErrorCategory::Timeout,
            };
            match end {
                End::Stuck | End::Overtaken => self.emit_hang(id, waited, true),
                End::Queued => {
                    message.push_str(", while others were answered");
                    let tool = label.tool().unwrap_or_default().to_owned();
                    let session = self.options.session_number;
                    self.recorder.fact(
                        &message,
                        &QueuedFact {
                            tool,
                            session,
                            waited,
                        },
                    );
                }
                End::Overdue => {}
            }
            let detail = match end {
                End::Queued => Detail::Queued,
                End::Overtaken => Detail::Overtaken,
                _ => Detail::None,
            };
            let failure = Failure::new(category, message).with(detail);
            self.settle(id, Ending::Failure(failure));
            self.send_cancelled(id, &label, era, "timed out");
        }
        next
    }

    /// When a waiting call counts as hung, and when it is given up, and as what.
    fn watch(&self, waiting: &Waiting, answered: u64, now: Instant) -> Watch {
        let deadline = waiting.deadline.map(|time| (time, End::Overdue));
        let limits = self.options.hang_limits.as_ref();
        let Some((limits, tool)) = limits.zip(waiting.tool.as_ref()) else {
            return Watch {
                end: deadline,
                ..Watch::default()
            };
        };
        let progress = &self.progress;
        let call = Unanswered {
            sent: progress.time(waiting.sent),
            lost: waiting.lost,
            hung: waiting.hung,
        };
        let judged = judge_wait(
            &call,
            (progress, tool, answered),
            progress.time(now),
            limits,
        );
        let (end, again_at) = match judged {
            WaitState::Waits(until) => (None, progress.instant(until)),
            WaitState::Stuck(since) => (progress.instant(since).zip(Some(End::Stuck)), None),
            WaitState::Overtaken(since) => {
                (progress.instant(since).zip(Some(End::Overtaken)), None)
            }
            WaitState::GivenUp(at) => (progress.instant(at).zip(Some(End::Queued)), None),
        };
        Watch {
            hangs_at: waiting.sent.checked_add(limits.threshold),
            end: end
                .into_iter()
                .chain(deadline)
                .min_by_key(|(time, _)| *time),
            again_at,
        }
    }

    fn emit_hang(&self, id: u64, hung_for: Duration, for_ever: bool) {
        let request = self.key(id);
        let kind = if for_ever {
            EventKind::Deadlock { request, hung_for }
        } else {
            EventKind::Hang { request, hung_for }
        };
        self.record(Instant::now(), kind);
    }

    /// Counts an answer that nobody waits for as what it is.
    pub fn note_stray_reply(&self, id: Id<'_>) {
        let mut state = self.lock();
        if let Id::Number(number) = id {
            if state.abandoned.remove(&number) {
                state.late_replies += 1;
                return;
            }
            if (1..state.next_id).contains(&number) {
                drop(state);
                if !self.explains_repair(number) {
                    let message = format!("request {id} was answered more than once");
                    self.violate(ViolationKind::DuplicateReply, message);
                }
                return;
            }
        }
        drop(state);
        let message = format!("an answer to request {id}, which was never sent");
        self.violate(ViolationKind::UnknownReply, message);
    }
}

/// How a call without an answer ends.
#[derive(Clone, Copy)]
enum End {
    /// The server makes no progress.
    Stuck,
    /// Many calls of its tool were answered that were sent after it was hung.
    Overtaken,
    /// It was waited for as long as a queued call is.
    Queued,
    /// Its own deadline passed.
    Overdue,
}

/// When a waiting call counts as hung, when it is given up and how, and when it is to be judged again.
#[derive(Default)]
struct Watch {
    hangs_at: Option<Instant>,
    end: Option<(Instant, End)>,
    again_at: Option<Instant>,
}

/// The earlier of two times, if there is any.
pub fn earliest(left: Option<Instant>, right: Option<Instant>) -> Option<Instant> {
    left.into_iter().chain(right).min()
}

/// Sleeps until the earliest deadline, ends what is overdue, and starts over; ends with the core.
pub async fn watch_deadlines(core: Weak<Core>) {
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
        if Instant::now() > until + WATCH_SLICE {
            // We did not get to run: what arrived meanwhile is to be read first, and what was lost noted.
            tokio::time::sleep(WATCH_SLICE).await;
        }
    }
}
