//! The mode strict: one for one.

use mcprove_settings::number::count;
use mcprove_settings::phrase;
use mcprove_trace::ToolCall;

use super::fitting::{Comparisons, TooMany};
use super::reference::{Doubt, Plan, Reference};
use super::report::{Mismatch, Mismatches};

/// One for one: the call at each place fits the reference there. No references demand nothing.
pub fn strict(plan: &Plan, calls: &[ToolCall], doubt: Doubt) -> Result<Mismatches, TooMany> {
    let mut mismatches = Mismatches::default();
    let references = &plan.references;
    if references.is_empty() {
        return Ok(mismatches);
    }
    let mut comparisons = Comparisons::new();
    for (place, (reference, call)) in references.iter().zip(calls).enumerate() {
        comparisons.take(reference.shape.comparisons())?;
        if !doubt.settle(reference.fit(call)) {
            mismatches.add(|| different(reference, call, place));
        }
    }
    for (place, reference) in references.iter().enumerate().skip(calls.len()) {
        mismatches.add(|| {
            let reason = format!(
                "expected call {place}, {}, was not made: the run has {}",
                phrase::name(&reference.name),
                phrase::count(count(calls.len()), "call")
            );
            Mismatch::new(Some(place), None, reason)
        });
    }
    for (place, call) in calls.iter().enumerate().skip(references.len()) {
        mismatches.add(|| {
            let name = phrase::name(&call.name);
            let reason = format!("call {place}, {name}, comes after the last expected call");
            Mismatch::new(None, Some(place), reason)
        });
    }
    Ok(mismatches)
}

fn different(reference: &Reference, call: &ToolCall, place: usize) -> Mismatch {
    let (diffs, words) = reference.difference(call).unwrap_or_default();
    let name = phrase::name(&reference.name);
    Mismatch {
        expected_index: Some(place),
        recorded_index: Some(place),
        diffs,
        reason: format!("call {place} is not the expected {name}: {words}"),
    }
}
