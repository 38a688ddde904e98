//! What a kind of fault does to a call.

use std::time::Duration;

use async_trait::async_trait;

use super::call::FaultedCall;

/// What a kind of fault does to the calls that it strikes.
#[async_trait]
pub trait Effect: Send + Sync + 'static {
    /// Does it to one call. `draw` is the random choice of this very call: the same call of the same
    /// seed has the same draw, whatever else goes on.
    async fn apply(&self, call: &dyn FaultedCall, draw: u64);

    /// How late the answer of a call with this draw is, where that is what the fault is about.
    fn delay(&self, draw: u64) -> Option<Duration> {
        let _ = draw;
        None
    }

    /// How long it holds up a call with this draw at most, where it lets the server answer.
    fn held(&self, draw: u64) -> Option<Duration> {
        self.delay(draw)
    }

    /// How many calls the fault strikes before it is over; `None` for all.
    fn strikes_max(&self) -> Option<u64> {
        None
    }
}
