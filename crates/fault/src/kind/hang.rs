//! The call never returns: reachable, but unresponsive.

use super::prelude::*;

#[derive(Settings)]
pub struct Hang;

#[async_trait]
impl Effect for Hang {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        reply::hang(call, "hang").await;
    }
}
