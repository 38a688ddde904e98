//! The reply is sent as a frame that is not JSON.

use crate::prelude::*;

#[derive(Settings)]
pub struct Malformed;

#[async_trait]
impl Effect for Malformed {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        exchange.changed(|it| [b"}{", &*it].concat().into()).await;
    }
}
