//! A call with an argument of another type than the schema asks for.

use mcprove_trace::protocol::kind;
use serde_json::{Value, json};

use super::judgement::Contract;
use super::{BadRequest, Entry, NotApplicable, Subject};

pub const ENTRY: Entry = Entry {
    name: "wrong_type",
    taxonomy: "FAULT-SCHEMA-TYPE-MISMATCH",
    paper: "2603.05637",
    request: "send a wrong-typed argument",
    contract: "an error",
    advice: "check the types of arguments against the schema, and answer with an error where they differ; leave the probe out for a tool that is meant to take anything",
    demands: Contract::Rejection,
    make,
};

/// One value of each type. None of the texts could be read as a number, a flag, a list or a map by a
/// server that is generous.
fn values() -> [Value; 6] {
    [
        json!("mcprove: not of this type"),
        json!(12345),
        json!(true),
        json!(["mcprove: not of this type"]),
        json!({ "mcprove": "not of this type" }),
        Value::Null,
    ]
}

fn make(subject: &Subject<'_>) -> Result<BadRequest, NotApplicable> {
    for name in subject.names() {
        let valid = subject.arguments.get(name);
        for value in values() {
            // Another text may be rejected for what it says, but not for its type.
            if valid.is_some_and(|valid| kind(valid) == kind(&value)) {
                continue;
            }
            let arguments = subject.with(name, value.clone());
            if subject.rejects(&arguments).is_some() && is_about_type(subject, name, &value) {
                let what = format!("with {} as the argument {name:?}", kind(&value));
                return Ok(subject.request(arguments, what));
            }
        }
    }
    Err("the schema has no argument of a certain type".to_owned())
}

/// Whether it is the type that is wrong: an argument that was not there before may be rejected for being
/// there, or, as a text, for what it says. Then several values of its type are.
fn is_about_type(subject: &Subject<'_>, name: &str, value: &Value) -> bool {
    if subject.arguments.contains_key(name) {
        return true;
    }
    let is_accepted = |value: Value| subject.rejects(&subject.with(name, value)).is_none();
    // Some value of another type must do.
    let mut others = values()
        .into_iter()
        .chain([json!(1), json!(0.5), json!([]), json!({}), json!("")])
        .filter(|other| kind(other) != kind(value));
    others.any(is_accepted)
}
