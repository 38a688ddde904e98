//! The tool is unknown, as after a server reloaded; lists leave it out too, which the injector sees to.

use crate::call::error;
use crate::prelude::*;

/// What servers say of a tool that they do not have.
const INVALID_PARAMS: i64 = -32_602;

#[derive(Settings)]
pub struct Vanish;

#[async_trait]
impl Effect for Vanish {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        let message = format!("Unknown tool: {}", exchange.tool());
        let error = error(&**exchange, INVALID_PARAMS, &message, None);
        exchange.reply(error).await;
    }
}
