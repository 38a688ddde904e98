//! A reply without content.

use serde_json::json;

use crate::fault::call::FaultedCall;
use crate::fault::effect::Effect;
use crate::fault::registry::Entry;
use crate::fault::reply::{self, Answer};
use crate::transport::BoxFuture;

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
