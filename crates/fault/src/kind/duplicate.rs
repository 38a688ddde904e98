//! The reply is sent twice.

use crate::prelude::*;

#[derive(Settings)]
pub struct Duplicate;

#[async_trait]
impl Effect for Duplicate {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        if let Some(reply) = exchange.execute().await {
            exchange.send(reply.clone()).await;
            exchange.reply(reply).await;
        }
    }
}
