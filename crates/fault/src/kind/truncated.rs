//! Only the first half of the reply arrives.

use super::prelude::*;

#[derive(Settings)]
pub struct Truncated;

#[async_trait]
impl Effect for Truncated {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        if let Some(reply) = call.execute().await {
            call.reply_cut(reply.slice(..reply.len() / 2)).await;
        }
    }
}
