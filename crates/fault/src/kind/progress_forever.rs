//! Progress, and never a result.

use super::prelude::*;

#[derive(Settings)]
pub struct ProgressForever {
    /// the time between two notifications, in milliseconds
    #[setting(default = 100, kind = WHOLE)]
    every_ms: u64,
}

#[async_trait]
impl Effect for ProgressForever {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        let tell = async {
            let Some(token) = call.progress_token() else {
                return std::future::pending().await;
            };
            for step in 1.. {
                call.send(reply::progress(token, step)).await;
                sleep(millis(self.every_ms.max(1))).await;
            }
        };
        tokio::select! {
            () = tell => {}
            () = reply::hang(call, "progress_forever") => {}
        }
    }
}
