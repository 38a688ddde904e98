//! The second caller is served first.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcprove_settings::registry::{DefaultValue, Setting};
use mcprove_trace::BoxFuture;
use tokio::sync::oneshot;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "reorder",
    explanation: "holds the reply until another call that the fault strikes has its own, at most hold_ms",
    settings: &[Setting {
        name: "hold_ms",
        explanation: "how long a reply waits to be overtaken, in milliseconds",
        default: DefaultValue::Integer(500),
    }],
    build: |settings| {
        Box::new(Reorder {
            hold: Duration::from_millis(settings.integer("hold_ms")),
            held: Mutex::new(None),
        })
    },
};

/// How far the overtaken reply stays behind.
const GAP: Duration = Duration::from_millis(50);

struct Reorder {
    hold: Duration,
    /// Lets the reply that waits go on.
    held: Mutex<Option<oneshot::Sender<()>>>,
}

impl Effect for Reorder {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(reply) = call.execute().await else {
                return;
            };
            let held = self.held().take();
            if let Some(held) = held.filter(|held| !held.is_closed()) {
                call.reply(reply).await;
                // It may just have stopped waiting.
                let _ = held.send(());
                return;
            }
            let (sender, overtaken) = oneshot::channel();
            *self.held() = Some(sender);
            if let Ok(Ok(())) = tokio::time::timeout(self.hold, overtaken).await {
                // Over HTTP the two travel on connections of their own, and could meet again.
                tokio::time::sleep(GAP).await;
            }
            call.reply(reply).await;
        })
    }

    fn held(&self, _: u64) -> Option<Duration> {
        Some(self.hold.saturating_add(GAP))
    }
}

impl Reorder {
    fn held(&self) -> MutexGuard<'_, Option<oneshot::Sender<()>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
