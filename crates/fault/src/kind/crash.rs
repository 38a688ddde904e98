//! The process exits in the middle of the call.

use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "crash",
    explanation: "the process exits with status 1",
    settings: &[],
    build: |_| Box::new(Crash),
};

struct Crash;

impl Effect for Crash {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            call.crash().await;
        })
    }
}
