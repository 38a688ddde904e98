//! A result that says that the tool failed; the call is not executed.

use mcprove_trace::BoxFuture;
use serde_json::{Map, json};

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "tool_error",
    explanation: "a result with isError",
    settings: &[],
    build: |_| Box::new(ToolError),
};

struct ToolError;

impl Effect for ToolError {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut result = Map::new();
            let text = json!([{ "type": "text", "text": "mcprove: injected tool error" }]);
            result.insert("content".to_owned(), text);
            result.insert("isError".to_owned(), true.into());
            call.reply(reply::result(call, result)).await;
        })
    }
}
