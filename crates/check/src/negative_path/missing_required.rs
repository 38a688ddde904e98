//! A call without an argument that the schema requires.

use super::judgement::Contract;
use super::{BadRequest, Entry, NotApplicable, Probe, Subject};

pub const ENTRY: Entry = Entry {
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
    let without = |name: &str| {
        let mut arguments = subject.arguments.clone();
        arguments.remove(name).map(|_| arguments)
    };
    let request = |name: &str, arguments| {
        let what = format!("without the required argument {name:?}");
        Ok(subject.request(arguments, what))
    };
    // Where there is no validator, the schema itself must say it.
    if subject.unreadable.is_some()
        && let Some(name) = subject.plainly_required()
        && let Some(arguments) = without(name)
    {
        return request(name, arguments);
    }
    for name in subject.names() {
        if let Some(arguments) = without(name)
            && subject.rejects(&arguments).is_some()
        {
            return request(name, arguments);
        }
    }
    Err(NotApplicable("the schema requires no argument".to_owned()))
}
