//! Failing as told: at once, late, sometimes, or at first.

use tokio::time::Instant;

use super::data::SeededRng;
use crate::category::{CODES, code};
use crate::prelude::*;

/// The code of a tool that failed, and of an error without a category.
pub const FAILED: i64 = -32_000;

/// Fails as it is told: as a JSON-RPC error, or as a tool that says that it failed.
pub fn error(call: Call<'_>) -> Answered {
    let message = call.text("message");
    if call.flag("as_tool") {
        return Ok(failed(&json!({ "triggered": true }), message));
    }
    let code = code(call.text("category")).unwrap_or(FAILED);
    Err(Refusal::new(code, message).into())
}

/// The refusal of a category that does not exist. Whoever tests with it wants a protocol error, not a
/// hint for a model.
pub fn refuse_category(tool: &str, arguments: &Value) -> Result<(), Refusal> {
    match arguments.get("category").filter(|_| tool == "error") {
        Some(category) if category.as_str().and_then(code).is_none() => {
            let known = CODES.map(|(name, _)| name).join(", ");
            Err(invalid(format!(
                "Invalid params: unknown category {category}; known: {known}"
            )))
        }
        _ => Ok(()),
    }
}

/// Answers late. Stops when nobody waits any more.
pub async fn slow(call: Call<'_>) -> Value {
    let start = Instant::now();
    tokio::time::sleep(Duration::from_millis(call.count("milliseconds", 60_000))).await;
    json!({ "slept_ms": u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX) })
}

/// Fails with a given probability, decided by a seed and the number of the call alone: the same on every
/// machine, however many calls are in flight.
pub fn flaky(call: Call<'_>) -> Outcome {
    let call_id = call.arguments.get("call_id").and_then(whole_number);
    let call_id = call_id.ok_or_else(|| invalid("Invalid params: call_id must fit in 64 bits"))?;
    let rate = call.arguments.get("fail_rate").and_then(Value::as_f64);
    let given = call.given("seed");
    let seed = given.map_or_else(|| call.exchange.host().unique_name(), str::to_owned);
    let (rate, roll, failure) = decide(&seed, call_id, rate.unwrap_or_default());
    let mut body = json!({ "fail_rate": rate, "failed": failure.is_some(), "roll": roll });
    if given.is_none() {
        body["seed"] = seed.into();
    }
    let Some(message) = failure else {
        return Ok(body);
    };
    Err(Refusal {
        code: FAILED,
        message,
        data: Some(body),
    })
}

/// The rate that is meant, the roll, and what is told if that is a failure.
fn decide(seed: &str, call_id: i64, rate: f64) -> (f64, f64, Option<String>) {
    // NaN stays, and never fails.
    let rate = rate.clamp(0.0, 1.0);
    let roll = SeededRng::of(seed, call_id).value();
    let message = || format!("flaky failure (roll={roll:.4} < rate={rate:.4})");
    (rate, roll, (roll < rate).then(message))
}

/// The whole number that JSON means by 3 and by 3.0.
fn whole_number(number: &Value) -> Option<i64> {
    /// Above it a float stands for more than one whole number, and which was meant is not known.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if let Some(number) = number.as_i64() {
        return Some(number);
    }
    let float = number.as_f64()?;
    let is_exact = float.fract() == 0.0 && float.abs() <= EXACT_MAX;
    is_exact.then(|| format!("{float:.0}").parse().ok())?
}

/// Fails a given number of times, then succeeds: what a retry is for.
pub fn fail_then_succeed(call: Call<'_>) -> Answered {
    let key = call.text("key");
    let failures = call.count("failures", 1_000_000);
    if call.flag("reset") {
        call.lab.state.forget_attempts(key);
    }
    let attempt = call.lab.state.attempt(key);
    let succeeded = attempt > failures;
    let body =
        json!({ "key": key, "attempt": attempt, "failures": failures, "succeeded": succeeded });
    let message = format!("failure {attempt} of {failures}, as requested");
    match (succeeded, call.flag("as_tool")) {
        (true, _) => Ok(body),
        (false, true) => Err(Reply::Result(failed(&body, &message))),
        (false, false) => Err(Refusal::new(FAILED, message).into()),
    }
}

#[cfg(test)]
mod tests;
