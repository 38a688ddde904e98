//! A JSON-RPC error; the call is not executed.

use super::prelude::*;

#[derive(Settings)]
pub struct Error {
    /// the code of the error
    #[setting(default = "-32000")]
    code: i64,
}

#[async_trait]
impl Effect for Error {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        reply::fail(call, "error", self.code, "mcprove: injected error").await;
    }
}
