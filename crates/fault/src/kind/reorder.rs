//! The second caller is served first.

use std::sync::Mutex;

use mcprove_settings::sync::lock;
use tokio::sync::oneshot;

use super::prelude::*;

/// How far the overtaken reply stays behind.
const GAP: Duration = Duration::from_millis(50);

#[derive(Settings)]
pub struct Reorder {
    /// how long a reply waits to be overtaken, in milliseconds
    #[setting(default = 500, kind = WHOLE)]
    hold_ms: u64,
    /// Lets the reply that waits go on.
    held: Mutex<Option<oneshot::Sender<()>>>,
}

#[async_trait]
impl Effect for Reorder {
    async fn apply(&self, call: &dyn FaultedCall, _: u64) {
        let Some(reply) = call.execute().await else {
            return;
        };
        let held = lock(&self.held).take();
        if let Some(held) = held.filter(|held| !held.is_closed()) {
            call.reply(reply).await;
            // It may just have stopped waiting.
            let _ = held.send(());
            return;
        }
        let (sender, overtaken) = oneshot::channel();
        *lock(&self.held) = Some(sender);
        if let Ok(Ok(())) = tokio::time::timeout(millis(self.hold_ms), overtaken).await {
            // Over HTTP the two travel on connections of their own, and could meet again.
            sleep(GAP).await;
        }
        call.reply(reply).await;
    }

    fn held(&self, _: u64) -> Option<Duration> {
        Some(millis(self.hold_ms).saturating_add(GAP))
    }
}
