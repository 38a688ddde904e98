//! What a reader should know of a session: where the server breaks the protocol in a way that belongs to no
//! single call.

use std::collections::BTreeSet;

use mcprove_check::pulse::OUTLIVE_TIMEOUT;
use mcprove_client::session::{Session, Violation};
use mcprove_settings::phrase;
use mcprove_settings::quantity::describe_duration;

use crate::run::connect::Listed;

/// How many are told one by one.
const TOLD_MAX: usize = 5;

/// What was noticed until the server had listed its tools.
pub(super) fn of_opening(session: &Session, tools: &Listed) -> Vec<String> {
    let warnings = session.warnings().iter().cloned();
    let unlisted = tools
        .as_ref()
        .err()
        .map(|error| format!("the server does not list its tools: {error}"));
    let violations = session.violations();
    warnings
        .chain(unlisted)
        .chain(of_violations(&violations.first))
        .collect()
}

/// That the server did not show that it outlived the call, which took the test some time.
pub(super) fn silence() -> String {
    format!(
        "the server left `ping` unanswered for {} after the call, so that it was not seen whether it outlived it",
        describe_duration(OUTLIVE_TIMEOUT)
    )
}

/// Each violation once, and how many more there are.
pub(super) fn of_violations(violations: &[Violation]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut remarks: Vec<String> = violations
        .iter()
        .map(|violation| {
            let what = violation.kind.explanation();
            format!(
                "the server broke the protocol: it {what}: {}",
                violation.message
            )
        })
        .filter(|remark| seen.insert(remark.clone()))
        .collect();
    if remarks.len() > TOLD_MAX {
        let more = remarks.len() - TOLD_MAX;
        remarks.truncate(TOLD_MAX);
        let more = phrase::count(more as u64, "more time");
        remarks.push(format!("the server broke the protocol {more}"));
    }
    remarks
}
