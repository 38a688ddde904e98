//! Two replies change places: one waits until another call that the fault strikes has its own.

use crate::prelude::*;
use tokio::sync::oneshot;

/// How far the overtaken reply stays behind.
const GAP: Duration = Duration::from_millis(50);

#[derive(Settings)]
pub struct Reorder {
    /// how long a reply waits to be overtaken, in milliseconds
    #[setting(default = 500, kind = DELAY)]
    hold_ms: u64,
    /// Lets the reply go on that waits to be overtaken.
    waiting: Mutex<Option<oneshot::Sender<()>>>,
}

#[async_trait]
impl Effect for Reorder {
    /// The second caller is served first.
    async fn apply(&self, exchange: &FaultExchange<'_>) {
        let Some(reply) = exchange.execute().await else {
            return;
        };
        let waiting = lock(&self.waiting).take();
        if let Some(waiting) = waiting.filter(|waiting| !waiting.is_closed()) {
            exchange.reply(reply).await;
            // It may just have stopped waiting.
            let _ = waiting.send(());
            return;
        }
        let (sender, overtaken) = oneshot::channel();
        *lock(&self.waiting) = Some(sender);
        let patience = millis(self.hold_ms);
        if let Ok(Ok(())) = tokio::time::timeout(patience, overtaken).await {
            // Over HTTP the two travel on connections of their own, and could meet again.
            sleep(GAP).await;
        }
        exchange.reply(reply).await;
    }

    fn held(&self, _: u64) -> Option<Duration> {
        Some(millis(self.hold_ms).saturating_add(GAP))
    }
}
