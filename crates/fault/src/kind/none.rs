//! No fault at all.

use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "none",
    explanation: "a healthy server",
    settings: &[],
    build: |_| Box::new(None),
};

struct None;

impl Effect for None {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(reply) = call.execute().await {
                call.reply(reply).await;
            }
        })
    }

    fn strikes(&self) -> bool {
        false
    }
}
