//! A load under way: what all its drivers share, and which phase it is.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::Notify;

use super::context::{OVER, RunContext};
use super::mix::Mixes;
use super::pacer::Pacer;
use super::schedule::{Phase, Schedule};

/// Where the numbers of calls that do not count begin.
const UNCOUNTED_FROM: u64 = 1 << 38;

/// What all drivers of a load share.
pub(super) struct Job {
    pub(super) context: RunContext,
    pub(super) schedule: Schedule,
    pub(super) mixes: Mixes,
    /// When the load began.
    pub(super) began: Instant,
    /// How many calls that count were begun; each has its place among them as its number.
    pub(super) next: AtomicU64,
    /// How many calls that do not count were begun.
    pub(super) next_uncounted: AtomicU64,
    /// Drivers that still have something to do.
    pub(super) active_drivers: AtomicU32,
    /// When set, the pace that a closed load keeps under.
    pub(super) limit: Option<Pacer>,
    /// How many calls have their place in that pace, whether they count or not.
    pub(super) paced: AtomicU64,
    /// The next phase has begun, or the load is over.
    pub(super) changed: Notify,
}

impl Job {
    /// Which phase it is: set by one timer, read by every worker before every call. None when the load is over.
    pub(super) fn phase(&self) -> Option<&Phase> {
        let place = self.context.gauges.place.load(Ordering::Acquire);
        self.schedule.phases().get(place as usize)
    }

    /// The phase at this place of the schedule begins.
    pub(super) fn enter(&self, place: u32) {
        self.context.gauges.place.store(place, Ordering::Release);
        self.changed.notify_waiters();
    }

    pub(super) fn end(&self) {
        if let Some(faults) = &self.context.faults {
            faults.end();
        }
        self.enter(OVER);
    }

    /// The phase in which worker `index` may make a call now; waits while it is not its turn, and
    /// is none when the load is over.
    pub(super) async fn turn(&self, index: u32) -> Option<&Phase> {
        loop {
            let changed = self.changed.notified();
            let phase = self.phase()?;
            if index < phase.concurrent {
                return Some(phase);
            }
            changed.await;
        }
    }

    /// The number of the next call, unless there were enough. Calls that do not count have numbers
    /// of their own, so that those that count are the same with and without them.
    pub(super) fn next_call(&self, is_counted: bool) -> Option<u64> {
        if !is_counted {
            let number = self.next_uncounted.fetch_add(1, Ordering::Relaxed);
            return Some(UNCOUNTED_FROM + number);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let calls = self.context.scenario.load.calls;
        Some(number).filter(|number| calls.is_none_or(|calls| *number < calls))
    }

    /// Notes that a driver has nothing to do any more; the last one ends the load.
    pub(super) fn leave(&self) {
        if self.active_drivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end();
        }
    }

    /// Waits until one more call may be made without exceeding the limit.
    pub(super) async fn wait_for_pace(&self) {
        if let Some(pacer) = &self.limit {
            let place = self.paced.fetch_add(1, Ordering::Relaxed);
            let due = self.began + pacer.due(place);
            let wait = due.saturating_duration_since(Instant::now());
            if !wait.is_zero() {
                self.context.pause(wait).await;
            }
        }
    }

    /// Resolves when the load ended before its time: enough calls, or nobody left to make them.
    pub(super) async fn over(&self) {
        loop {
            let changed = self.changed.notified();
            if self.phase().is_none() {
                return;
            }
            changed.await;
        }
    }
}
