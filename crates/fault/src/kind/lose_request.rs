//! The request is lost on its way: never executed, never answered.

use super::prelude::*;

#[derive(Settings)]
pub struct LoseRequest;

#[async_trait]
impl Effect for LoseRequest {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        reply::hang(call, "lose_request").await;
    }
}
