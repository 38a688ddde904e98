//! As `hang`; another name to record the intent.

use super::prelude::*;

#[derive(Settings)]
pub struct Wedged;

#[async_trait]
impl Effect for Wedged {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        reply::hang(call, "wedged").await;
    }
}
