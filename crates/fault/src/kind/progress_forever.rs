//! Progress without an end, for those who want it, and no result.

use crate::call::progress;
use crate::prelude::*;

#[derive(Settings)]
pub struct ProgressForever {
    /// the time between two notifications, in milliseconds
    #[setting(default = 100, kind = DELAY)]
    every_ms: u64,
}

#[async_trait]
impl Effect for ProgressForever {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        tokio::select! {
            () = self.send_progress(exchange) => {}
            () = exchange.hang() => {}
        }
    }
}

impl ProgressForever {
    async fn send_progress(&self, exchange: &FaultExchange<'_>) {
        let Some(token) = exchange.progress_token() else {
            return std::future::pending().await;
        };
        for step in 1.. {
            exchange.send(progress(token, step)).await;
            sleep(millis(self.every_ms.max(1))).await;
        }
    }
}
