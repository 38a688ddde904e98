//! A reply to nobody.

use super::prelude::*;

#[derive(Settings)]
pub struct WrongId;

#[async_trait]
impl Effect for WrongId {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        let other = reply::other_id(call.id());
        reply::changed(call, |reply| reply::with_id(&reply, &other)).await;
    }
}
