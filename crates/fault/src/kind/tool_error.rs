//! A result with `isError: true`; the call is not executed.

use crate::prelude::*;

#[derive(Settings)]
pub struct ToolError;

#[async_trait]
impl Effect for ToolError {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        let text = json!([{ "type": "text", "text": "mcprove: injected tool error" }]);
        let result = json!({ "content": text, "isError": true });
        exchange.reply(exchange.result(result)).await;
    }
}
