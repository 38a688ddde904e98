//! No fault at all.

use crate::fault::call::FaultedCall;
use crate::fault::effect::Effect;
use crate::fault::registry::Entry;
use crate::transport::BoxFuture;

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
