//! Answers late. Stops when nobody waits any more.

use std::time::Duration;

use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::call::{Call, Reply, count};
use crate::registry::{Entry, object, whole};

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "slow",
    group: "failure",
    explanation: "Sleeps for the given milliseconds, at most 60000, then answers; a cancelled call gets no answer.",
    input: || {
        let properties = json!({
            "milliseconds": {
                "type": "integer",
                "minimum": 0,
                "description": "How long to sleep; more than 60000 is 60000",
            },
        });
        object(&properties, &["milliseconds"])
    },
    output: Some(|| whole(&json!({ "slept_ms": { "type": "integer" } }))),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(answer(call)),
};

/// The longest sleep.
const MILLISECONDS_MAX: u64 = 60_000;

async fn answer(call: Call<'_>) -> Reply {
    let wanted = call.argument("milliseconds").map(time).unwrap_or_default();
    let start = Instant::now();
    tokio::time::sleep(wanted).await;
    let slept = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    Reply::Structured(json!({ "slept_ms": slept }))
}

/// How long to sleep for an argument of any size.
fn time(milliseconds: &Value) -> Duration {
    Duration::from_millis(count(milliseconds).min(MILLISECONDS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sleep_is_longer_than_a_minute() {
        assert_eq!(time(&json!(59_999)), Duration::from_millis(59_999));
        let huge = [
            json!(60_001),
            json!(9_223_372_036_855_u64),
            json!(u64::MAX),
            json!(1e300),
        ];
        for milliseconds in huge {
            assert_eq!(
                time(&milliseconds),
                Duration::from_mins(1),
                "{milliseconds}"
            );
        }
    }
}
