//! A reply with a huge text.

use bytes::Bytes;
use mcprove_settings::registry::{DefaultValue, Setting};
use mcprove_trace::BoxFuture;
use serde_json::json;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;
use crate::reply::Answer;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "oversized",
    explanation: "a result with huge content",
    settings: &[Setting {
        name: "bytes",
        explanation: "how long the text is",
        default: DefaultValue::Integer(10 * 1024 * 1024),
    }],
    build: |settings| {
        Box::new(Oversized {
            bytes: settings.integer("bytes"),
        })
    },
};

struct Oversized {
    bytes: u64,
}

impl Effect for Oversized {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(reply) = call.execute().await {
                let marked = reply::with_answer(call, &reply, |answer| match answer {
                    Answer::Result(result) => {
                        let text = json!([{ "type": "text", "text": MARK }]);
                        result.insert("content".to_owned(), text);
                        // Else a client that reads only this would find all as it was.
                        result.remove("structuredContent");
                    }
                    Answer::Error(error) => {
                        error.insert("message".to_owned(), json!(MARK));
                        error.remove("data");
                    }
                });
                call.reply(self.swell(&marked)).await;
            }
        })
    }
}

/// Where the text comes, until the message is written.
const MARK: &str = "mcprove: injected oversized text";

impl Oversized {
    /// The message with the text in the place of the mark: written once, for it may be large, and other
    /// calls wait while it is made.
    fn swell(&self, marked: &Bytes) -> Bytes {
        let Some(place) = memchr::memmem::find(marked, MARK.as_bytes()) else {
            return marked.clone();
        };
        let bytes = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        let (before, rest) = marked.split_at(place);
        let mut huge = Vec::with_capacity(marked.len().saturating_add(bytes));
        huge.extend_from_slice(before);
        huge.resize(place.saturating_add(bytes), b'x');
        huge.extend_from_slice(rest.get(MARK.len()..).unwrap_or_default());
        huge.into()
    }
}
