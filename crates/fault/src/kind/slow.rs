//! The call answers, but late.

use super::prelude::*;

#[derive(Settings)]
pub struct Slow {
    /// how late, in milliseconds
    #[setting(default = 1_000, kind = WHOLE)]
    delay_ms: u64,
}

#[async_trait]
impl Effect for Slow {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        // Before it is executed, so that a call that is cancelled meanwhile never is.
        sleep(millis(self.delay_ms)).await;
        reply::pass_on(call).await;
    }

    fn delay(&self, _: u64) -> Option<Duration> {
        Some(millis(self.delay_ms))
    }
}
