//! No fault: the call is executed, and its reply passed on.

use crate::prelude::*;

#[derive(Settings)]
pub struct NoFault;

#[async_trait]
impl Effect for NoFault {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        exchange.pass_on().await;
    }
}
