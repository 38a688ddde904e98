//! A call with a very large argument.

use serde_json::Value;

use super::judgement::Contract;
use super::{BadRequest, Entry, NotApplicable, Subject};

/// How large the argument is.
const BYTES: usize = 1024 * 1024;
const NAME: &str = "mcprove_oversized_field";

pub const ENTRY: Entry = Entry {
    name: "oversized",
    taxonomy: "FAULT-INPUT-OVERSIZED",
    paper: "2606.05339",
    request: "send an oversized argument",
    contract: "an error or a result, never a hang",
    advice: "limit the size of arguments before working on them, and answer what is too large with an error",
    demands: Contract::Return,
    make,
};

/// An argument that is a text is best, then one that may be; one that must be something else has to be
/// answered as well. What is sent is not checked against the schema, which might take long.
fn make(subject: &Subject<'_>) -> Result<BadRequest, NotApplicable> {
    let names = subject.names();
    let is_text = |name: &&str| subject.arguments.get(*name).is_some_and(Value::is_string);
    let takes_text = |name: &str| subject.rejects(&subject.with(name, "x".into())).is_none();
    let text = names.iter().copied().find(is_text);
    let argument = text
        .or_else(|| names.iter().copied().find(|name| takes_text(name)))
        .or_else(|| names.first().copied());
    if let Some(name) = argument {
        return Ok(request(subject, name));
    }
    let name = subject.unused_name(NAME);
    if takes_text(&name) {
        return Ok(request(subject, &name));
    }
    Err("the tool takes no arguments".to_owned())
}

fn request(subject: &Subject<'_>, name: &str) -> BadRequest {
    let what = format!("with a text of 1 MiB as the argument {name:?}");
    let value = Value::String("x".repeat(BYTES));
    subject.request(subject.with(name, value), what)
}
