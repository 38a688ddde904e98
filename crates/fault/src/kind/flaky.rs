//! Some calls fail with a JSON-RPC error, always the same ones for the same seed.

use super::prelude::*;

#[derive(Settings)]
pub struct Flaky {
    /// the share of calls that fail, from 0 to 1
    #[setting(default = 0.5, kind = SHARE)]
    rate: f64,
}

#[async_trait]
impl Effect for Flaky {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        reply::fail(
            call,
            "flaky",
            reply::FAILURE_CODE,
            "mcprove: injected flaky failure",
        )
        .await;
    }
}
