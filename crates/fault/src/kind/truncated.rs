//! Only the first half of the reply is sent.

use crate::prelude::*;

#[derive(Settings)]
pub struct Truncated;

#[async_trait]
impl Effect for Truncated {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        if let Some(reply) = exchange.execute().await {
            exchange.reply_cut(reply.slice(..reply.len() / 2)).await;
        }
    }
}
