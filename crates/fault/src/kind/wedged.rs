//! As `hang`; another name to record the intent.

use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "wedged",
    explanation: "as hang, meant as a deadlocked backend",
    settings: &[],
    build: |_| Box::new(Wedged),
};

struct Wedged;

impl Effect for Wedged {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            reply::hang(call, "wedged").await;
        })
    }
}
