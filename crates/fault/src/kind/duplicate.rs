//! Every reply comes twice.

use super::prelude::*;

#[derive(Settings)]
pub struct Duplicate;

#[async_trait]
impl Effect for Duplicate {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        if let Some(reply) = call.execute().await {
            call.send(reply.clone()).await;
            call.reply(reply).await;
        }
    }
}
