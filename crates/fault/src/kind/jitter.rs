//! The call answers after a time that is drawn for each call.

use std::time::Duration;

use mcprove_settings::registry::{DefaultValue, Setting};
use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "jitter",
    explanation: "the call answers after between min_ms and max_ms",
    settings: &[
        Setting {
            name: "min_ms",
            explanation: "how late at least, in milliseconds",
            default: DefaultValue::Integer(0),
        },
        Setting {
            name: "max_ms",
            explanation: "how late at most, in milliseconds",
            default: DefaultValue::Integer(1_000),
        },
    ],
    build: |settings| {
        Box::new(Jitter {
            min_ms: settings.integer("min_ms"),
            max_ms: settings.integer("max_ms"),
        })
    },
};

struct Jitter {
    min_ms: u64,
    max_ms: u64,
}

impl Jitter {
    fn drawn(&self, draw: u64) -> Duration {
        let choices = self.max_ms.saturating_sub(self.min_ms).saturating_add(1);
        Duration::from_millis(self.min_ms.saturating_add(draw % choices))
    }
}

impl Effect for Jitter {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, draw: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            tokio::time::sleep(self.drawn(draw)).await;
            if let Some(reply) = call.execute().await {
                call.reply(reply).await;
            }
        })
    }

    fn delay(&self, draw: u64) -> Option<Duration> {
        Some(self.drawn(draw))
    }
}
