//! Progress, and never a result.

use std::time::Duration;

use mcprove_settings::registry::{DefaultValue, Setting};
use mcprove_trace::BoxFuture;

use crate::call::FaultedCall;
use crate::effect::Effect;
use crate::registry::Entry;
use crate::reply;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "progress_forever",
    explanation: "progress without an end, and no result",
    settings: &[Setting {
        name: "every_ms",
        explanation: "the time between two notifications, in milliseconds",
        default: DefaultValue::Integer(100),
    }],
    build: |settings| {
        Box::new(ProgressForever {
            every: Duration::from_millis(settings.integer("every_ms").max(1)),
        })
    },
};

struct ProgressForever {
    every: Duration,
}

impl Effect for ProgressForever {
    fn apply<'a>(&'a self, call: &'a dyn FaultedCall, _: u64) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let tell = async {
                let Some(token) = call.progress_token() else {
                    return std::future::pending().await;
                };
                for step in 1.. {
                    call.send(reply::progress(token, step)).await;
                    tokio::time::sleep(self.every).await;
                }
            };
            tokio::select! {
                () = tell => {}
                () = reply::hang(call, "progress_forever") => {}
            }
        })
    }
}
