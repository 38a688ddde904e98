//! How much is worked on at a time.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// The most calls of tools that are worked on at a time, and the most of all other requests: so that
/// calls that are never answered leave room for everything else.
pub const IN_FLIGHT_MAX: usize = 16_384;

/// One permit for each request that may be worked on.
pub struct Slots {
    calls: Arc<Semaphore>,
    others: Arc<Semaphore>,
}

impl Slots {
    pub fn new() -> Self {
        let full = || Arc::new(Semaphore::new(IN_FLIGHT_MAX));
        Self {
            calls: full(),
            others: full(),
        }
    }

    /// Those for requests of this method.
    pub const fn of(&self, method: &str) -> &Arc<Semaphore> {
        match method.as_bytes() {
            b"tools/call" => &self.calls,
            _ => &self.others,
        }
    }

    /// Whether nothing is worked on.
    pub fn is_idle(&self) -> bool {
        let is_full = |slots: &Semaphore| slots.available_permits() == IN_FLIGHT_MAX;
        is_full(&self.calls) && is_full(&self.others)
    }
}
