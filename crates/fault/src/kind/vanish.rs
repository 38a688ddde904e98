//! The tool disappears: it is unknown, and no longer listed.

use super::prelude::*;

#[derive(Settings)]
pub struct Vanish;

/// What servers say of a tool that they do not have.
const INVALID_PARAMS: i64 = -32_602;

#[async_trait]
impl Effect for Vanish {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        let message = format!("Unknown tool: {}", call.tool());
        call.reply(reply::error(call, INVALID_PARAMS, &message, None))
            .await;
    }
}
