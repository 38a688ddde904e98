//! No fault at all.

use super::prelude::*;

#[derive(Settings)]
pub struct None;

#[async_trait]
impl Effect for None {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        reply::pass_on(call).await;
    }
}
