//! Only the first half of the reply arrives.

use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;

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
