//! The process exits in the middle of the call.

use super::prelude::*;

#[derive(Settings)]
pub struct Crash;

#[async_trait]
impl Effect for Crash {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        call.crash().await;
    }
}
