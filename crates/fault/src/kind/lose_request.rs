//! The request is lost on its way: never executed, never answered.

use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "lose_request",
    explanation: "the call is not executed, and no reply comes",
    settings: &[],
    build: |_| Box::new(LoseRequest),
};

struct LoseRequest;

impl Effect for LoseRequest {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            reply::hang(call, "lose_request").await;
        })
    }
}
