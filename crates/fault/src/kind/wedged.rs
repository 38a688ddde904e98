//! As `hang`; its name says that a deadlocked backend is meant.

use crate::prelude::*;

#[derive(Settings)]
pub struct Wedged;

#[async_trait]
impl Effect for Wedged {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        exchange.hang().await;
    }
}
