//! A reply without content.

use mcprove_trace::BoxFuture;
use serde_json::json;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;
use crate::reply::Answer;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "empty",
    explanation: "a result with empty content",
    settings: &[],
    build: |_| Box::new(Empty),
};

struct Empty;

impl Effect for Empty {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(reply) = call.execute().await {
                let empty = reply::with_answer(call, &reply, |answer| match answer {
                    Answer::Result(result) => {
                        result.insert("content".to_owned(), json!([]));
                        result.remove("structuredContent");
                    }
                    Answer::Error(error) => {
                        error.insert("message".to_owned(), json!(""));
                        error.remove("data");
                    }
                });
                call.reply(empty).await;
            }
        })
    }
}
