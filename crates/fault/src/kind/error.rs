//! A JSON-RPC error; the call is not executed.

use mcprove_settings::registry::{DefaultValue, Setting};
use mcprove_trace::BoxFuture;
use serde_json::json;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "error",
    explanation: "a JSON-RPC error",
    settings: &[Setting {
        name: "code",
        explanation: "the code of the error",
        default: DefaultValue::Signed(reply::FAILURE_CODE),
    }],
    build: |settings| {
        Box::new(Error {
            code: settings.signed("code"),
        })
    },
};

struct Error {
    code: i64,
}

impl Effect for Error {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let data = json!({ "fault": "error" });
            call.reply(reply::error(
                call,
                self.code,
                "mcprove: injected error",
                Some(&data),
            ))
            .await;
        })
    }
}
