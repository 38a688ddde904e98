//! Some calls fail with a JSON-RPC error, always the same ones for the same seed.

use serde_json::json;

use crate::fault::call::FaultedCall;
use crate::fault::effect::Effect;
use crate::fault::registry::{DefaultValue, Entry, Setting};
use crate::fault::reply;
use crate::transport::BoxFuture;

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
