//! A load under way: what all its drivers share, and which phase it is.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::Notify;

use super::context::RunContext;
use super::mix::Mixes;
use super::pacer::Pacer;
use super::pacer_thread::PacerConfig;
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
    pub(super) clock: Clock,
}

/// Which phase it is. Set by one timer, read by every worker before every call.
pub(super) struct Clock {
    /// The phase's place in the schedule; past the end when the load is over.
    pub(super) place: AtomicU32,
    pub(super) concurrent: AtomicU32,
    pub(super) changed: Notify,
}

impl Job {
    pub(super) fn phase(&self) -> Option<&Phase> {
        let place = self.clock.place.load(Ordering::Acquire);
        self.schedule.phases().get(place as usize)
    }

    pub(super) fn end(&self) {
        let end = u32::try_from(self.schedule.phases().len()).unwrap_or(u32::MAX);
        self.clock.place.store(end, Ordering::Release);
        self.context.gauges.place.store(end, Ordering::Release);
        self.context.gauges.is_over.store(true, Ordering::Release);
        if let Some(faults) = &self.context.faults {
            faults.end();
        }
        self.clock.changed.notify_waiters();
    }

    /// The phase in which worker `index` may make a call now; waits while it is not its turn, and
    /// is none when the load is over.
    pub(super) async fn turn(&self, index: u32) -> Option<&Phase> {
        loop {
            if index < self.clock.concurrent.load(Ordering::Acquire) {
                return self.phase();
            }
            let changed = self.clock.changed.notified();
            self.phase()?;
            if index < self.clock.concurrent.load(Ordering::Acquire) {
                continue;
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
        let is_wanted = self
            .context
            .scenario
            .load
            .calls
            .is_none_or(|calls| number < calls);
        is_wanted.then_some(number)
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

    /// What the pacer thread needs to know.
    pub(super) fn pace(&self) -> PacerConfig {
        let load = &self.context.scenario.load;
        PacerConfig {
            began: self.began,
            until: self.began + self.schedule.end(),
            pacer: load.rate.and_then(|rate| {
                let phases = self.schedule.phases().iter();
                Pacer::of(phases.map(|phase| (phase.from, self.schedule.rate_of(phase, rate))))
            }),
            calls: load.calls.unwrap_or(u64::MAX),
            catch_up: load.catch_up,
            max_in_flight: u64::from(load.max_in_flight.max(1)),
        }
    }

    /// Resolves when the load ended before its time: enough calls, or nobody left to make them.
    pub(super) async fn over(&self) {
        loop {
            let changed = self.clock.changed.notified();
            if self.phase().is_none() {
                return;
            }
            changed.await;
        }
    }
}
