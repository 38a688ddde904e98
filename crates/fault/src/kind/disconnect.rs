//! The connection is closed in the middle of the call.

use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "disconnect",
    explanation: "the connection is closed",
    settings: &[],
    build: |_| Box::new(Disconnect),
};

struct Disconnect;

impl Effect for Disconnect {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            call.disconnect().await;
        })
    }
}
