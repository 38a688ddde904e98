//! The reply is a whole frame that is no JSON.

use super::prelude::*;

#[derive(Settings)]
pub struct Malformed;

#[async_trait]
impl Effect for Malformed {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        reply::changed(call, |reply| [b"}{", &*reply].concat().into()).await;
    }
}
