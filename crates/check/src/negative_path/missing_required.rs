//! A call without an argument that the schema requires.

use super::judgement::Contract;
use super::{BadRequest, Entry, NotApplicable, Subject};

pub const ENTRY: Entry = Entry {
    name: "missing_required",
    taxonomy: "FAULT-SCHEMA-MISSING-REQUIRED",
    paper: "2603.05637",
    request: "omit a required argument",
    contract: "an invalid-params-class error",
    advice: "check that required arguments are there before using them, and answer with an error if not",
    demands: Contract::Rejection,
    make,
};

/// Whatever part of the schema requires the argument, its validator must miss it.
fn make(subject: &Subject<'_>) -> Result<BadRequest, NotApplicable> {
    let plainly = subject
        .plainly_required()
        .filter(|_| subject.unreadable.is_some());
    for name in plainly.into_iter().chain(subject.names()) {
        let mut arguments = subject.arguments.clone();
        if arguments.remove(name).is_some()
            && (plainly == Some(name) || subject.rejects(&arguments).is_some())
        {
            let what = format!("without the required argument {name:?}");
            return Ok(subject.request(arguments, what));
        }
    }
    Err("the schema requires no argument".to_owned())
}
