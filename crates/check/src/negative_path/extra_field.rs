//! A call with a field that the schema does not allow.

use serde_json::json;

use super::judgement::Contract;
use super::{BadRequest, Entry, NotApplicable, Subject};

const NAME: &str = "mcprove_unexpected_field";

pub const ENTRY: Entry = Entry {
    name: "extra_field",
    taxonomy: "FAULT-SCHEMA-UNEXPECTED-FIELD",
    paper: "2603.05637",
    request: "send an unexpected field",
    contract: "rejection when additionalProperties is false",
    advice: "answer fields that the schema forbids with an error, or drop `additionalProperties: false` from the schema",
    demands: Contract::Rejection,
    make,
};

/// The schema forbids the field only if it accepts it with no value at all: not where only its type, or
/// its text, would be wrong.
fn make(subject: &Subject<'_>) -> Result<BadRequest, NotApplicable> {
    let name = subject.unused_name(NAME);
    let values = json!(["mcprove", 1, 0.5, true, [], {}, null]);
    let mut values = values.as_array().into_iter().flatten().cloned();
    if values.any(|value| subject.rejects(&subject.with(&name, value)).is_none()) {
        return Err(
            "the schema allows other fields (`additionalProperties` is not false)".to_owned(),
        );
    }
    let what = format!("with the field {name:?}, which the schema forbids");
    Ok(subject.request(subject.with(&name, json!("mcprove")), what))
}
