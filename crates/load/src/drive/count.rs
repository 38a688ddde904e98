//! A number that one thread adds to and others look at.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count of one thread. Adding to it is a read and a write, not one step that keeps other threads
/// out: that would cost each call more than the counting is worth. So two threads must not add.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds one.
    pub fn add(&self) {
        self.0.store(self.get() + 1, Ordering::Relaxed);
    }

    /// How many so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
