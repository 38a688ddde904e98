//! The call answers, but late.

use std::time::Duration;

use mcprove_settings::registry::{DefaultValue, Setting};
use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "slow",
    explanation: "the call answers after delay_ms",
    settings: &[Setting {
        name: "delay_ms",
        explanation: "how late, in milliseconds",
        default: DefaultValue::Integer(1_000),
    }],
    build: |settings| {
        Box::new(Slow {
            delay: Duration::from_millis(settings.integer("delay_ms")),
        })
    },
};

struct Slow {
    delay: Duration,
}

impl Effect for Slow {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // Before it is executed, so that a call that is cancelled meanwhile never is.
            tokio::time::sleep(self.delay).await;
            if let Some(reply) = call.execute().await {
                call.reply(reply).await;
            }
        })
    }

    fn delay(&self, _: u64) -> Option<Duration> {
        Some(self.delay)
    }
}
