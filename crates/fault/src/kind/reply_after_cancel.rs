//! The call is executed after a delay, and its reply sent, even if the client has cancelled it.

use crate::prelude::*;

#[derive(Settings)]
pub struct ReplyAfterCancel {
    /// how late, in milliseconds
    #[setting(default = 1_000, kind = DELAY)]
    delay_ms: u64,
}

#[async_trait]
impl Effect for ReplyAfterCancel {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        exchange.ignore_cancellation();
        sleep(millis(self.delay_ms)).await;
        exchange.pass_on().await;
    }

    fn delay(&self, _: u64) -> Option<Duration> {
        Some(millis(self.delay_ms))
    }
}
