//! Side effects that can be counted.

use super::failure::FAILED;
use crate::prelude::*;

/// Writes, or says that it failed although it did.
pub fn write(call: Call<'_>) -> Outcome {
    let key = call.text("key");
    let state = &call.lab.state;
    let (applied, count) = state
        .write(key, call.given("idempotency_key"))
        .map_err(|full| Refusal::new(FAILED, full.to_string()))?;
    if call.flag("then_fail") {
        return Err(Refusal::new(FAILED, "failed after the write, as requested"));
    }
    Ok(json!({ "key": key, "applied": applied, "count": count.applied }))
}

/// How often was written.
pub fn count(call: Call<'_>) -> Value {
    let state = &call.lab.state;
    let key = call.given("key");
    let body = if let Some(key) = key {
        let count = state.count(key);
        json!({ "key": key, "count": count.applied, "repeated": count.repeated })
    } else {
        let (counts, total) = state.counts();
        json!({ "count": total, "counts": counts })
    };
    if call.flag("reset") {
        state.forget_writes(key);
    }
    body
}
