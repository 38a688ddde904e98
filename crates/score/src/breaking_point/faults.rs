//! Ramps in which injected faults were on: their steps are left out, and what then is not known is told.

use mcprove_settings::number::count;

use super::Step;
use crate::verdict::Verdict;

/// What to try.
const FAULTS_HINT: &str =
    "let the faults start late enough and end early enough that steps are left, or leave them out";

/// Nothing is left to judge.
pub(super) fn in_every_step() -> Verdict {
    let sentence =
        "An injected fault was on in every step of the ramp, so where the server breaks is open.";
    Verdict::inconclusive("breaking_point", sentence, FAULTS_HINT)
}

/// The steps that ask most of the server met a fault.
pub(super) fn in_the_last_steps(steps: &[Step], last: &Step) -> Verdict {
    let left_out = steps.iter().filter(|step| step.met_fault).count();
    let sentence = format!(
        "The server copes with up to {}; an injected fault was on in the steps after that, so where it breaks is open.",
        last.load()
    );
    Verdict::inconclusive("breaking_point", sentence, FAULTS_HINT)
        .number("last_good_concurrent", last.concurrent)
        .number("steps_left_out", count(left_out))
}
