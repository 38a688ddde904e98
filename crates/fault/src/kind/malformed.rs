//! The reply is a whole frame that is no JSON.

use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "malformed",
    explanation: "a broken frame: the reply is no JSON",
    settings: &[],
    build: |_| Box::new(Malformed),
};

struct Malformed;

impl Effect for Malformed {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(reply) = call.execute().await {
                let mut broken = b"}{".to_vec();
                broken.extend_from_slice(&reply);
                call.reply(broken.into()).await;
            }
        })
    }
}
