//! As `hang`; another name to record the intent.

use crate::fault::call::FaultedCall;
use crate::fault::effect::Effect;
use crate::fault::registry::Entry;
use crate::fault::reply;
use crate::transport::BoxFuture;

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
