//! The call is executed after a delay.
//!
//! The delay comes first, so that a call that is cancelled meanwhile is never executed.

use crate::prelude::*;

#[derive(Settings)]
pub struct Slow {
    /// how late, in milliseconds
    #[setting(default = 1_000, kind = DELAY)]
    delay_ms: u64,
}

#[async_trait]
impl Effect for Slow {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        sleep(millis(self.delay_ms)).await;
        exchange.pass_on().await;
    }

    fn delay(&self, _: u64) -> Option<Duration> {
        Some(millis(self.delay_ms))
    }
}
