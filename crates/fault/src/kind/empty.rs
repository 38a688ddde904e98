//! A reply without content.

use super::prelude::*;

#[derive(Settings)]
pub struct Empty;

#[async_trait]
impl Effect for Empty {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        reply::changed(call, |reply| reply::saying(call, &reply, &json!([]), "")).await;
    }
}
