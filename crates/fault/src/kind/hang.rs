//! No reply, and the call is not executed.

use crate::prelude::*;

#[derive(Settings)]
pub struct Hang;

#[async_trait]
impl Effect for Hang {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        exchange.hang().await;
    }
}
