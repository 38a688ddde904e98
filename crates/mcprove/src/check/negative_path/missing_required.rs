//! A call without an argument that the schema requires.

use super::judgement::Contract;
use super::{BadRequest, Entry, NotApplicable, Probe, Subject};

pub(super) const ENTRY: Entry = Entry {
    probe: Probe::MissingRequired,
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
    for name in subject.names() {
        let mut arguments = subject.arguments.clone();
        if arguments.remove(name).is_some() && subject.rejects(&arguments).is_some() {
            let what = format!("without the required argument {name:?}");
            return Ok(subject.request(arguments, what));
        }
    }
    Err(NotApplicable("the schema requires no argument".to_owned()))
}
