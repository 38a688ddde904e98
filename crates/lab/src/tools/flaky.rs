//! Fails with a given probability, decided by a seed and the number of the call alone: the same on every
//! machine, however many calls are in flight.

use mcprove_servers::hosting::Refusal;
use mcprove_servers::hosting::message::INVALID_PARAMS;
use mcprove_trace::protocol::Revision;
use serde_json::{Value, json};

use crate::call::{Call, Reply};
use crate::registry::{Entry, object};
use crate::roll::Roll;

/// The line in the registry.
pub const ENTRY: Entry = Entry {
    name: "flaky",
    group: "failure",
    explanation: "Fails with the given probability; the same seed and call_id always decide the same.",
    input: || {
        let properties = json!({
            "fail_rate": {
                "type": "number",
                "description": "How often to fail, from 0 to 1; what is outside is taken for the nearer end",
            },
            "seed": { "type": "string", "description": "Decides with call_id; drawn for the call if missing" },
            "call_id": { "type": "integer", "description": "The number of the call", "default": 0 },
        });
        object(&properties, &["fail_rate"])
    },
    output: Some(|| {
        let properties = json!({
            "fail_rate": { "type": "number" },
            "failed": { "type": "boolean" },
            "roll": { "type": "number" },
            "seed": { "type": "string" },
        });
        object(&properties, &["fail_rate", "failed", "roll"])
    }),
    since: Revision::V2024_11_05,
    answer: |call| Box::pin(async move { answer(call) }),
};

/// The code of the failure: that of a tool that failed.
const CODE: i64 = -32_000;

fn answer(call: Call<'_>) -> Reply {
    let Some(call_id) = call.argument("call_id").map_or(Some(0), whole_number) else {
        let text = "Invalid params: call_id must fit in 64 bits";
        return Reply::error(INVALID_PARAMS, text);
    };
    let given = call.argument("fail_rate").and_then(Value::as_f64);
    let rate = clamp(given.unwrap_or_default());
    let drawn;
    let given = call.argument("seed").and_then(Value::as_str);
    let seed = if let Some(seed) = given {
        seed
    } else {
        drawn = call.exchange.host().unique_name();
        &drawn
    };
    let roll = Roll::of(seed, call_id).value();
    let failed = is_failure(roll, rate);
    let mut body = json!({ "fail_rate": rate, "failed": failed, "roll": roll });
    if let (true, Some(fields)) = (given.is_none(), body.as_object_mut()) {
        fields.insert("seed".to_owned(), seed.into());
    }
    if failed {
        return Reply::Error(Refusal {
            code: CODE,
            message: message(roll, rate),
            data: Some(body),
        });
    }
    Reply::Structured(body)
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

/// The probability that is meant. NaN stays, and never fails.
fn clamp(rate: f64) -> f64 {
    rate.clamp(0.0, 1.0)
}

fn is_failure(roll: f64, rate: f64) -> bool {
    roll < rate
}

fn message(roll: f64, rate: f64) -> String {
    format!("flaky failure (roll={roll:.4} < rate={rate:.4})")
}

#[cfg(test)]
mod tests;
