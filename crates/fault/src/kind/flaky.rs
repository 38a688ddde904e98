//! Some calls fail with a JSON-RPC error, always the same ones for the same seed.

use mcprove_settings::registry::{DefaultValue, Setting};
use mcprove_trace::BoxFuture;
use serde_json::json;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "flaky",
    explanation: "some calls get a JSON-RPC error",
    settings: &[Setting {
        name: "rate",
        explanation: "the share of calls that fail, from 0 to 1",
        default: DefaultValue::Number(0.5),
    }],
    build: |_| Box::new(Flaky),
};

struct Flaky;

impl Effect for Flaky {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let data = json!({ "fault": "flaky" });
            let message = "mcprove: injected flaky failure";
            call.reply(reply::error(
                call,
                reply::FAILURE_CODE,
                message,
                Some(&data),
            ))
            .await;
        })
    }
}
