//! The reply has the id of another request.

use crate::call::{other_id, with_id};
use crate::prelude::*;

#[derive(Settings)]
pub struct WrongId;

#[async_trait]
impl Effect for WrongId {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        let other = other_id(exchange.id());
        exchange.changed(|it| with_id(&it, &other)).await;
    }
}
