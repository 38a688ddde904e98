//! The first calls hang, then the server is back.

use mcprove_settings::registry::{DefaultValue, Setting};
use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "recover_after",
    explanation: "the first calls hang, then the server recovers",
    settings: &[Setting {
        name: "failures",
        explanation: "how many calls hang",
        default: DefaultValue::Integer(1),
    }],
    build: |settings| {
        Box::new(RecoverAfter {
            failures: settings.integer("failures"),
        })
    },
};

struct RecoverAfter {
    failures: u64,
}

impl Effect for RecoverAfter {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            reply::hang(call, "recover_after").await;
        })
    }

    fn strikes_max(&self) -> Option<u64> {
        Some(self.failures)
    }
}
