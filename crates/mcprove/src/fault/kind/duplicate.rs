//! Every reply comes twice.

use crate::fault::call::FaultedCall;
use crate::fault::effect::Effect;
use crate::fault::registry::Entry;
use crate::transport::BoxFuture;

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
