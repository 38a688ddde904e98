//! The call answers after a time that is drawn for each call.

use super::prelude::*;

#[derive(Settings)]
pub struct Jitter {
    /// how late at least, in milliseconds
    #[setting(default = 0, kind = WHOLE)]
    min_ms: u64,
    /// how late at most, in milliseconds
    #[setting(default = 1_000, kind = WHOLE)]
    max_ms: u64,
}

impl Jitter {
    fn drawn(&self, draw: u64) -> Duration {
        let choices = self.max_ms.saturating_sub(self.min_ms).saturating_add(1);
        millis(self.min_ms.saturating_add(draw % choices))
    }
}

#[async_trait]
impl Effect for Jitter {
    async fn apply(&self, call: &dyn FaultedCall, draw: u64) {
        sleep(self.drawn(draw)).await;
        reply::pass_on(call).await;
    }

    fn delay(&self, draw: u64) -> Option<Duration> {
        Some(self.drawn(draw))
    }
}
