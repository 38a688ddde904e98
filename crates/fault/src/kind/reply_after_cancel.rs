//! The answer comes though the call was cancelled.

use super::prelude::*;

#[derive(Settings)]
pub struct ReplyAfterCancel {
    /// how late, in milliseconds
    #[setting(default = 1_000, kind = WHOLE)]
    delay_ms: u64,
}

#[async_trait]
impl Effect for ReplyAfterCancel {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        call.ignore_cancellation();
        sleep(millis(self.delay_ms)).await;
        reply::pass_on(call).await;
    }

    fn delay(&self, _: u64) -> Option<Duration> {
        Some(millis(self.delay_ms))
    }
}
