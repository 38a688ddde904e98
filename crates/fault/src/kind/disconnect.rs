//! The connection is closed in the middle of the call.

use super::prelude::*;

#[derive(Settings)]
pub struct Disconnect;

#[async_trait]
impl Effect for Disconnect {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        call.disconnect().await;
    }
}
