//! The call never returns: reachable, but unresponsive.

use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "hang",
    explanation: "the call never returns",
    settings: &[],
    build: |_| Box::new(Hang),
};

struct Hang;

impl Effect for Hang {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            reply::hang(call, "hang").await;
        })
    }
}
