//! The reply is lost on its way: executed, but nobody hears of it.

use super::prelude::*;

#[derive(Settings)]
pub struct LoseReply;

#[async_trait]
impl Effect for LoseReply {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        call.execute().await;
        reply::hang(call, "lose_reply").await;
    }
}
