//! A share of the calls gets a JSON-RPC error, and is not executed. The injector reads the default of the share.

use crate::call::FAILURE_CODE;
use crate::prelude::*;

#[derive(Settings)]
pub struct Flaky {
    /// the share of calls that fail, from 0 to 1
    #[setting(default = 0.5, kind = SHARE)]
    rate: f64,
}

#[async_trait]
impl Effect for Flaky {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        let message = "mcprove: injected flaky failure";
        exchange.fail(FAILURE_CODE, message).await;
    }
}
