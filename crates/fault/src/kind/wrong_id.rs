//! A reply to nobody.

use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "wrong_id",
    explanation: "the reply has another id",
    settings: &[],
    build: |_| Box::new(WrongId),
};

struct WrongId;

impl Effect for WrongId {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(reply) = call.execute().await {
                let other = reply::other_id(call.id());
                call.reply(reply::with_id(&reply, &other)).await;
            }
        })
    }
}
