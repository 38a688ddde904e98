//! The first calls hang, as while a server starts or restarts; later ones are left alone.

use crate::prelude::*;

#[derive(Settings)]
pub struct RecoverAfter {
    /// how many calls hang
    #[setting(default = 1, kind = WHOLE)]
    failures: u64,
}

#[async_trait]
impl Effect for RecoverAfter {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        exchange.hang().await;
    }

    fn strikes_max(&self) -> Option<u64> {
        Some(self.failures)
    }
}
