//! The reply has empty content, or, if it is an error, an empty message.

use crate::prelude::*;

#[derive(Settings)]
pub struct Empty;

#[async_trait]
impl Effect for Empty {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        let emptied = |it| exchange.saying(&it, &json!([]), "");
        exchange.changed(emptied).await;
    }
}
