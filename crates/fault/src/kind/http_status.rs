//! An HTTP status instead of an answer; the call is not executed.

use super::prelude::*;

#[derive(Settings)]
pub struct HttpStatus {
    /// the status, from 400 to 599
    #[setting(default = 503, kind = WHOLE)]
    status: u64,
    /// after how many seconds to retry (Retry-After)
    #[setting(default = 1, kind = WHOLE)]
    retry_after_s: u64,
}

#[async_trait]
impl Effect for HttpStatus {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        let status = u16::try_from(self.status).unwrap_or(503);
        call.refuse(status, self.retry_after_s).await;
    }
}
