//! Only the first half of the reply arrives.

use crate::fault::call::FaultedCall;
use crate::fault::effect::Effect;
use crate::fault::registry::Entry;
use crate::transport::BoxFuture;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "truncated",
    explanation: "a cut frame: only the first half of the reply",
    settings: &[],
    build: |_| Box::new(Truncated),
};

struct Truncated;

impl Effect for Truncated {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(reply) = call.execute().await {
                call.reply_cut(reply.slice(..reply.len() / 2)).await;
            }
        })
    }
}
