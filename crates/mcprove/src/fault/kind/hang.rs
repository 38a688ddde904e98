//! The call never returns: reachable, but unresponsive.

use crate::fault::call::FaultedCall;
use crate::fault::effect::Effect;
use crate::fault::registry::Entry;
use crate::fault::reply;
use crate::transport::BoxFuture;

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
