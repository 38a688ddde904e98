//! The request is lost on its way: the call is not executed, and the client waits in vain.

use crate::prelude::*;

#[derive(Settings)]
pub struct LoseRequest;

#[async_trait]
impl Effect for LoseRequest {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        exchange.hang().await;
    }
}
