//! The reply is lost on its way: executed, but nobody hears of it.

use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "lose_reply",
    explanation: "the call is executed, and no reply comes",
    settings: &[],
    build: |_| Box::new(LoseReply),
};

struct LoseReply;

impl Effect for LoseReply {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            call.execute().await;
            reply::hang(call, "lose_reply").await;
        })
    }
}
