//! As `slow`, with another delay for each call.

use crate::prelude::*;

#[derive(Settings)]
pub struct Jitter {
    /// how late at least, in milliseconds
    #[setting(default = 0, kind = DELAY)]
    min_ms: u64,
    /// how late at most, in milliseconds
    #[setting(default = 1_000, kind = DELAY)]
    max_ms: u64,
}

#[async_trait]
impl Effect for Jitter {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        sleep(self.drawn(exchange.draw)).await;
        exchange.pass_on().await;
    }

    fn delay(&self, draw: u64) -> Option<Duration> {
        Some(self.drawn(draw))
    }
}

impl Jitter {
    fn drawn(&self, draw: u64) -> Duration {
        let choices = self.max_ms.saturating_sub(self.min_ms);
        let drawn = draw % choices.saturating_add(1);
        millis(self.min_ms.saturating_add(drawn))
    }
}
