//! The reply is lost on its way: the call is executed, and the client waits in vain.

use crate::prelude::*;

#[derive(Settings)]
pub struct LoseReply;

#[async_trait]
impl Effect for LoseReply {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        exchange.execute().await;
        exchange.hang().await;
    }
}
