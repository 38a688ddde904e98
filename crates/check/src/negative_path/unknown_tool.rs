//! A call of a tool that does not exist.

use serde_json::Value;

use super::judgement::Contract;
use super::subject::unused;
use super::{BadRequest, Entry, NotApplicable, Subject};

const NAME: &str = "mcprove_no_such_tool";

pub const ENTRY: Entry = Entry {
    name: "unknown_tool",
    taxonomy: "FAULT-PROTO-UNKNOWN-METHOD",
    paper: "2606.05339",
    request: "call a tool that does not exist",
    contract: "a method-not-found-class error",
    advice: "answer a call of a tool that is not listed with JSON-RPC error -32602, or a result with isError",
    demands: Contract::Rejection,
    make,
};

#[expect(clippy::unnecessary_wraps, reason = "every probe is made this way")]
fn make(subject: &Subject<'_>) -> Result<BadRequest, NotApplicable> {
    let tool = unused(NAME, &subject.tools);
    Ok(BadRequest {
        what: format!("a call of {tool:?}, which the server does not have"),
        tool,
        arguments: Value::Object(subject.arguments.clone()),
    })
}
