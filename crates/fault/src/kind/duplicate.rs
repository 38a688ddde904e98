//! Every reply comes twice.

use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "duplicate",
    explanation: "the reply comes twice",
    settings: &[],
    build: |_| Box::new(Duplicate),
};

struct Duplicate;

impl Effect for Duplicate {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(reply) = call.execute().await {
                call.send(reply.clone()).await;
                call.reply(reply).await;
            }
        })
    }
}
