//! The first calls hang, then the server is back.

use super::prelude::*;

#[derive(Settings)]
pub struct RecoverAfter {
    /// how many calls hang
    #[setting(default = 1, kind = WHOLE)]
    failures: u64,
}

#[async_trait]
impl Effect for RecoverAfter {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        reply::hang(call, "recover_after").await;
    }

    fn strikes_max(&self) -> Option<u64> {
        Some(self.failures)
    }
}
