//! Bytes that peers make us hold: one limit for all of them together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// How many bytes may be held at a time. Clones share it.
#[derive(Debug, Clone)]
pub struct Budget {
    max: usize,
    usage: Arc<BudgetUsage>,
}

#[derive(Debug, Default)]
struct BudgetUsage {
    bytes: AtomicUsize,
    released: Notify,
}

/// Bytes that are held, until this is dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    pub fn new(max: usize) -> Self {
        Self {
            max,
            usage: Arc::default(),
        }
    }

    /// A charge of nothing, to which bytes are added as they arrive.
    pub fn open(&self) -> Charge {
        Charge {
            budget: self.clone(),
            bytes: 0,
        }
    }

    /// Holds so many bytes; `None` if that is more than the limit leaves.
    pub fn charge(&self, bytes: usize) -> Option<Charge> {
        let mut charge = self.open();
        charge.add(bytes).then_some(charge)
    }

    /// Holds so many bytes, also if that is more than the limit leaves: whoever makes us hold more has to wait for
    /// [`Budget::room`].
    pub fn exceed(&self, bytes: usize) -> Charge {
        self.usage.bytes.fetch_add(bytes, Ordering::AcqRel);
        Charge {
            budget: self.clone(),
            bytes,
        }
    }

    /// Whether so many bytes more can be held.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.usage
            .bytes
            .load(Ordering::Acquire)
            .saturating_add(bytes)
            <= self.max
    }

    /// Waits until less is held than the limit.
    pub async fn room(&self) {
        loop {
            let released = self.usage.released.notified();
            if self.has_room(1) {
                return;
            }
            released.await;
        }
    }
}

impl Charge {
    /// Holds so many bytes more; `false` if that is more than the limit leaves.
    pub fn add(&mut self, bytes: usize) -> bool {
        let Budget { max, usage } = &self.budget;
        let grow = |held: usize| held.checked_add(bytes).filter(|held| held <= max);
        let is_added = usage
            .bytes
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, grow)
            .is_ok();
        if is_added {
            self.bytes += bytes;
        }
        is_added
    }

    /// How many bytes it holds.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds so many bytes less.
    pub(crate) fn release(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        let usage = &self.budget.usage;
        usage.bytes.fetch_sub(bytes, Ordering::AcqRel);
        usage.released.notify_waiters();
    }

    /// Holds nothing any more.
    pub(crate) fn clear(&mut self) {
        self.release(self.bytes);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_limit_is_refused_until_something_is_let_go() {
        let budget = Budget::new(10);
        let mut first = budget.charge(6).unwrap();
        assert!(!first.add(5) && budget.charge(5).is_none());
        let second = budget.charge(4).unwrap();
        drop(second);
        assert!(first.add(4) && first.bytes() == 10);
        first.clear();
        assert!(budget.charge(10).is_some() && budget.charge(usize::MAX).is_none());
    }

    #[tokio::test]
    async fn whoever_exceeds_the_limit_waits_for_room() {
        let budget = Budget::new(10);
        let (first, second) = (budget.exceed(9), budget.exceed(9));
        assert!(!budget.has_room(1));
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.room().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        waiting.await.unwrap();
        assert!(budget.has_room(1) && !budget.has_room(2));
        drop(second);
    }
}
