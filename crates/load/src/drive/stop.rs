//! Ending a run early: gently at first, at once when asked again.

use std::convert::Infallible;

use crate::prelude::*;
use tokio::time::Instant;

/// How long what is under way may take at most once the run was asked to stop.
const DRAIN_MAX: Duration = Duration::from_secs(5);

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
/// use mcprove_load::drive::{Stop, StopLevel};
///
/// let stop = Stop::new();
/// stop.request();
/// assert_eq!(stop.level(), StopLevel::Drain);
/// stop.request();
/// assert_eq!(stop.level(), StopLevel::Now);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stop {
    level: Arc<watch::Sender<StopLevel>>,
    /// When it was first asked for.
    asked: Arc<OnceLock<Instant>>,
}

impl Stop {
    /// A run that goes on.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop: the first time gently, the second time at once.
    pub fn request(&self) {
        self.asked.get_or_init(Instant::now);
        self.level.send_modify(|level| {
            *level = match level {
                StopLevel::Run => StopLevel::Drain,
                _ => StopLevel::Now,
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

    /// Resolves when what was under way had its time, once the run was asked to stop: half of
    /// `shutdown`, in which servers are to end. The rest is for them.
    pub async fn drained(&self, shutdown: Duration) {
        self.overdue(DRAIN_MAX.min(shutdown / 2)).await;
    }

    /// Resolves when so much time went by since the run was asked to stop, or it is to end at once.
    pub async fn overdue(&self, time: Duration) {
        self.requested(StopLevel::Drain).await;
        let asked = *self.asked.get_or_init(Instant::now);
        tokio::select! {
            () = tokio::time::sleep_until(asked + time) => {}
            () = self.requested(StopLevel::Now) => {}
        }
    }

    /// Resolves when the run was asked to stop at least so hard.
    pub async fn requested(&self, level: StopLevel) {
        let mut receiver = self.level.subscribe();
        // The sender is held by `self`: waiting cannot fail.
        let _ = receiver.wait_for(|current| *current >= level).await;
    }
}

/// The handle of one run, which follows that of its user. Dropping it ends the run at once, so that
/// nothing goes on when nobody waits for the run any more.
#[derive(Debug)]
pub struct Leash {
    outer: Stop,
    /// The handle that the run looks at.
    pub stop: Stop,
}

impl Leash {
    /// Follows `outer`.
    pub fn new(outer: &Stop) -> Self {
        let leash = Self {
            outer: outer.clone(),
            stop: Stop::new(),
        };
        leash.raise(outer.level());
        leash
    }

    /// Passes on what the user asks for. Once asked to stop, the run has so much `time` until it ends
    /// at once.
    pub async fn follow(&self, time: Duration) -> Infallible {
        self.outer.requested(StopLevel::Drain).await;
        self.raise(StopLevel::Drain);
        self.outer.overdue(time).await;
        self.raise(StopLevel::Now);
        std::future::pending().await
    }

    fn raise(&self, to: StopLevel) {
        if let Some(asked) = self.outer.asked.get() {
            let _ = self.stop.asked.set(*asked);
        }
        self.stop.level.send_modify(|level| *level = to.max(*level));
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.raise(StopLevel::Now);
    }
}
