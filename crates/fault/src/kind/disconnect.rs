//! The connection is closed without a reply.

use crate::prelude::*;

#[derive(Settings)]
pub struct Disconnect;

#[async_trait]
impl Effect for Disconnect {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        exchange.disconnect().await;
    }
}
