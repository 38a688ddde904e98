//! A result that says that the tool failed; the call is not executed.

use super::prelude::*;

#[derive(Settings)]
pub struct ToolError;

#[async_trait]
impl Effect for ToolError {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        let text = json!([{ "type": "text", "text": "mcprove: injected tool error" }]);
        let result = json!({ "content": text, "isError": true });
        call.reply(reply::result(call, result)).await;
    }
}
