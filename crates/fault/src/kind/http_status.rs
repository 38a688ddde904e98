//! An HTTP status with Retry-After instead of a reply, as of a gateway or a rate limit.

use crate::prelude::*;

#[derive(Settings)]
pub struct HttpStatus {
    /// the status
    #[setting(default = 503, kind = Kind::Whole(400, 599))]
    status: u64,
    /// after how many seconds to retry (Retry-After)
    #[setting(default = 1, kind = WHOLE)]
    retry_after_s: u64,
}

#[async_trait]
impl Effect for HttpStatus {
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        let status = u16::try_from(self.status).unwrap_or(503);
        exchange.refuse(status, self.retry_after_s).await;
    }
}
