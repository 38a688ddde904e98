//! What a scenario finds out itself, noted so that the report has it as a verdict.

use mcprove_score::verdict::{Outcome, Severity, Verdict};
use mcprove_trace::stream::Recorder;
use serde_json::json;

/// Notes `verdict`; `run/notes.rs` reads it back.
pub(super) fn note_check(recorder: &Recorder, verdict: &Verdict) {
    recorder.note(
        "check",
        &verdict.detector,
        &json!({
            "detector": verdict.detector,
            "passed": verdict.outcome == Outcome::Pass,
            "critical": verdict.severity == Severity::Critical,
            "inconclusive": verdict.outcome == Outcome::Inconclusive,
            "sentence": verdict.sentence,
            "hint": verdict.hint.clone().unwrap_or_default(),
            "numbers": verdict.numbers,
        }),
    );
}
