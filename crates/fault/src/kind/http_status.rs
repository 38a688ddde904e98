//! An HTTP status instead of an answer; the call is not executed.

use mcprove_settings::registry::{DefaultValue, Setting};
use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "http_status",
    explanation: "an HTTP status with Retry-After",
    settings: &[
        Setting {
            name: "status",
            explanation: "the status, from 400 to 599",
            default: DefaultValue::Integer(503),
        },
        Setting {
            name: "retry_after_s",
            explanation: "after how many seconds to try again, as the answer tells",
            default: DefaultValue::Integer(1),
        },
    ],
    build: |settings| {
        Box::new(HttpStatus {
            status: u16::try_from(settings.integer("status")).unwrap_or(503),
            retry_after_s: settings.integer("retry_after_s"),
        })
    },
};

struct HttpStatus {
    status: u16,
    retry_after_s: u64,
}

impl Effect for HttpStatus {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            call.refuse(self.status, self.retry_after_s).await;
        })
    }
}
