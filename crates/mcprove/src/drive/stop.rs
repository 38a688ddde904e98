//! Ending a run early: gently at first, at once when asked again.

use std::sync::Arc;

use tokio::sync::watch;

/// How much longer a run may go on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// As long as it takes.
    #[default]
    Run,
    /// Nothing new is begun; what is under way may end.
    Drain,
    /// Everything ends now.
    Now,
}

/// A handle by which a run is ended early, from any thread.
///
/// ```
/// use mcprove::drive::{Stop, StopLevel};
///
/// let stop = Stop::new();
/// stop.request();
/// assert_eq!(stop.level(), StopLevel::Drain);
/// stop.request();
/// assert_eq!(stop.level(), StopLevel::Now);
/// ```
#[derive(Debug, Clone)]
pub struct Stop {
    level: Arc<watch::Sender<StopLevel>>,
}

impl Stop {
    /// A run that goes on.
    pub fn new() -> Self {
        Self {
            level: Arc::new(watch::Sender::new(StopLevel::Run)),
        }
    }

    /// Asks to stop: the first time gently, the second time at once.
    pub fn request(&self) {
        self.level.send_modify(|level| {
            *level = match level {
                StopLevel::Run => StopLevel::Drain,
                StopLevel::Drain | StopLevel::Now => StopLevel::Now,
            }
        });
    }

    /// How much longer the run may go on.
    pub fn level(&self) -> StopLevel {
        *self.level.borrow()
    }

    /// Whether anything new may be begun.
    pub fn is_running(&self) -> bool {
        self.level() == StopLevel::Run
    }

    /// Resolves when the run was asked to stop at least so hard.
    pub async fn requested(&self, level: StopLevel) {
        let mut receiver = self.level.subscribe();
        // The sender is held by `self`: waiting cannot fail.
        let _ = receiver.wait_for(|current| *current >= level).await;
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}
