//! The server's process exits.

use crate::prelude::*;

#[derive(Settings)]
pub struct Crash;

#[async_trait]
impl Effect for Crash {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        exchange.crash().await;
    }
}
