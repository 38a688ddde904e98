//! The answer comes though the call was cancelled.

use std::time::Duration;

use mcprove_settings::registry::{DefaultValue, Setting};
use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "reply_after_cancel",
    explanation: "the call answers after delay_ms even if it was cancelled",
    settings: &[Setting {
        name: "delay_ms",
        explanation: "how late, in milliseconds",
        default: DefaultValue::Integer(1_000),
    }],
    build: |settings| {
        Box::new(ReplyAfterCancel {
            delay: Duration::from_millis(settings.integer("delay_ms")),
        })
    },
};

struct ReplyAfterCancel {
    delay: Duration,
}

impl Effect for ReplyAfterCancel {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            call.ignore_cancellation();
            tokio::time::sleep(self.delay).await;
            if let Some(reply) = call.execute().await {
                call.reply(reply).await;
            }
        })
    }

    fn ignores_cancellation(&self) -> bool {
        true
    }

    fn delay(&self, _: u64) -> Option<Duration> {
        Some(self.delay)
    }
}
