//! The bad requests: what there is to know of each, and how it is made.

use super::examine::Contract;
use super::subject::unused;
use super::{BadRequest, NotApplicable, Subject};
use crate::prelude::*;

/// How large an oversized argument is.
const OVERSIZED_BYTES: usize = 1024 * 1024;

/// What there is to know of a probe.
#[derive(Debug)]
pub struct Entry {
    /// Its name in suites and reports.
    pub name: &'static str,
    /// The fault that it looks for, in a taxonomy of faults of MCP servers.
    pub taxonomy: &'static str,
    /// The number of the taxonomy at arxiv.org.
    pub paper: &'static str,
    /// What is sent.
    pub request: &'static str,
    /// What must come back.
    pub contract: &'static str,
    /// What to do about a tool that does not keep the contract.
    pub advice: &'static str,
    pub demands: Contract,
    pub make: fn(&Subject<'_>) -> Result<BadRequest, NotApplicable>,
}

/// Every probe.
pub static ENTRIES: [Entry; 5] = [
    Entry {
        name: "unknown_tool",
        taxonomy: "FAULT-PROTO-UNKNOWN-METHOD",
        paper: "2606.05339",
        request: "call a tool that does not exist",
        contract: "a method-not-found-class error",
        advice: "answer a call of a tool that is not listed with JSON-RPC error -32602, or a result with isError",
        demands: Contract::Rejection,
        make: unknown_tool,
    },
    Entry {
        name: "missing_required",
        taxonomy: "FAULT-SCHEMA-MISSING-REQUIRED",
        paper: "2603.05637",
        request: "omit a required argument",
        contract: "an invalid-params-class error",
        advice: "check that required arguments are there before using them, and answer with an error if not",
        demands: Contract::Rejection,
        make: missing_required,
    },
    Entry {
        name: "wrong_type",
        taxonomy: "FAULT-SCHEMA-TYPE-MISMATCH",
        paper: "2603.05637",
        request: "send a wrong-typed argument",
        contract: "an error",
        advice: "check the types of arguments against the schema, and answer with an error where they differ; leave the probe out for a tool that is meant to take anything",
        demands: Contract::Rejection,
        make: wrong_type,
    },
    Entry {
        name: "extra_field",
        taxonomy: "FAULT-SCHEMA-UNEXPECTED-FIELD",
        paper: "2603.05637",
        request: "send an unexpected field",
        contract: "rejection when additionalProperties is false",
        advice: "answer fields that the schema forbids with an error, or drop `additionalProperties: false` from the schema",
        demands: Contract::Rejection,
        make: extra_field,
    },
    Entry {
        name: "oversized",
        taxonomy: "FAULT-INPUT-OVERSIZED",
        paper: "2606.05339",
        request: "send an oversized argument",
        contract: "an error or a result, never a hang",
        advice: "limit the size of arguments before working on them, and answer what is too large with an error",
        demands: Contract::Return,
        make: oversized,
    },
];

#[expect(clippy::unnecessary_wraps, reason = "every probe is made this way")]
fn unknown_tool(subject: &Subject<'_>) -> Result<BadRequest, NotApplicable> {
    let tool = unused("mcprove_no_such_tool", &subject.tools);
    let what = format!("a call of {tool:?}, which the server does not have");
    let request = subject.request(subject.arguments.clone(), what);
    Ok(BadRequest { tool, ..request })
}

/// Whatever part of the schema requires the argument, its validator must miss it.
fn missing_required(subject: &Subject<'_>) -> Result<BadRequest, NotApplicable> {
    let plainly = subject
        .plainly_required()
        .filter(|_| subject.unreadable.is_some());
    for name in plainly.into_iter().chain(subject.names()) {
        let mut arguments = subject.arguments.clone();
        if arguments.remove(name).is_some()
            && (plainly == Some(name) || subject.rejects(&arguments))
        {
            let what = format!("without the required argument {name:?}");
            return Ok(subject.request(arguments, what));
        }
    }
    Err("the schema requires no argument".to_owned())
}

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

fn wrong_type(subject: &Subject<'_>) -> Result<BadRequest, NotApplicable> {
    for name in subject.names() {
        let valid = subject.arguments.get(name);
        for value in values() {
            // Another text may be rejected for what it says, but not for its type.
            if valid.is_some_and(|valid| kind(valid) == kind(&value)) {
                continue;
            }
            let what = format!("with {} as the argument {name:?}", kind(&value));
            let is_about_type = valid.is_some() || takes_another_type(subject, name, &value);
            let arguments = subject.with(name, value);
            if is_about_type && subject.rejects(&arguments) {
                return Ok(subject.request(arguments, what));
            }
        }
    }
    Err("the schema has no argument of a certain type".to_owned())
}

/// Whether some value of another type will do: an argument that was not there before may be rejected for being
/// there, or, as a text, for what it says.
fn takes_another_type(subject: &Subject<'_>, name: &str, value: &Value) -> bool {
    let more = [json!(1), json!(0.5), json!([]), json!({}), json!("")];
    values()
        .into_iter()
        .chain(more)
        .filter(|other| kind(other) != kind(value))
        .any(|other| !subject.rejects(&subject.with(name, other)))
}

/// The schema forbids the field only if it accepts it with no value at all: not where only its type, or
/// its text, would be wrong.
fn extra_field(subject: &Subject<'_>) -> Result<BadRequest, NotApplicable> {
    let name = subject.unused_name("mcprove_unexpected_field");
    let values = json!(["mcprove", 1, 0.5, true, [], {}, null]);
    let mut values = values.as_array().into_iter().flatten().cloned();
    if values.any(|value| !subject.rejects(&subject.with(&name, value))) {
        return Err(
            "the schema allows other fields (`additionalProperties` is not false)".to_owned(),
        );
    }
    let what = format!("with the field {name:?}, which the schema forbids");
    Ok(subject.request(subject.with(&name, json!("mcprove")), what))
}

/// An argument that is a text is best, then one that may be; one that must be something else has to be
/// answered as well. What is sent is not checked against the schema, which might take long.
fn oversized(subject: &Subject<'_>) -> Result<BadRequest, NotApplicable> {
    let names = subject.names();
    let is_text = |name: &&str| subject.arguments.get(*name).is_some_and(Value::is_string);
    let takes_text = |name: &str| !subject.rejects(&subject.with(name, "x".into()));
    let unused = subject.unused_name("mcprove_oversized_field");
    let name = names
        .iter()
        .copied()
        .find(is_text)
        .or_else(|| names.iter().copied().find(|name| takes_text(name)))
        .or_else(|| names.first().copied())
        .or_else(|| takes_text(&unused).then_some(&*unused));
    let Some(name) = name else {
        return Err("the tool takes no arguments".to_owned());
    };
    let what = format!("with a text of 1 MiB as the argument {name:?}");
    let value = Value::String("x".repeat(OVERSIZED_BYTES));
    Ok(subject.request(subject.with(name, value), what))
}
