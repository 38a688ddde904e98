//! The tool disappears: it is unknown, and no longer listed.

use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "vanish",
    explanation: "the tool is unknown and not listed",
    settings: &[],
    build: |_| Box::new(Vanish),
};

struct Vanish;

/// What servers say of a tool that they do not have.
const INVALID_PARAMS: i64 = -32_602;

impl Effect for Vanish {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let message = format!("Unknown tool: {}", call.tool());
            call.reply(reply::error(call, INVALID_PARAMS, &message, None))
                .await;
        })
    }

    fn hides_tool(&self) -> bool {
        true
    }
}
