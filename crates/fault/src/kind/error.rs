//! A JSON-RPC error; the call is not executed.

use crate::prelude::*;

#[derive(Settings)]
pub struct Error {
    /// the code of the error
    #[setting(default = "-32000")]
    code: i64,
}

#[async_trait]
impl Effect for Error {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        exchange.fail(self.code, "mcprove: injected error").await;
    }
}
