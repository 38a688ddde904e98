//! Rules about what failed, and what was found.

use super::Facts;
use crate::fuzz;
use crate::prelude::*;

/// Share of the errors that one tool must hold.
const TOOL_SHARE_MIN: f64 = 0.8;
/// Share of the errors that one category must hold.
const CATEGORY_SHARE_MIN: f64 = 0.5;
/// Errors below which their distribution says nothing.
const ERRORS_MIN: u64 = 5;
/// Digits after the point that a percentage has at most.
const DIGITS_MAX: i32 = 15;
/// Calls from which having seen no error says something.
const CLEAN_CALLS_MIN: u64 = 100;

pub fn nothing_succeeded(facts: &Facts) -> Option<Message> {
    // Bad input is sent instead of calls.
    let is_fuzzed = facts
        .verdicts
        .iter()
        .any(|verdict| verdict.detector == fuzz::ID);
    match (facts.attempted, facts.succeeded) {
        (0, _) if is_fuzzed => None,
        (0, _) if facts.unanswered > 0 => Some(sentence!(
            "No call was answered: {} waited when the run was interrupted, so it says little about the server.",
            counted(facts.unanswered, "call")
        )),
        (0, _) => Some("No call was made, so this run says nothing about the server.".into()),
        (attempted, 0) => Some(sentence!(
            "No call succeeded: {} failed, so the latencies say nothing about the server.",
            counted(attempted, "call")
        )),
        _ => None,
    }
}

pub fn problems_found(facts: &Facts) -> Option<Message> {
    let found = |severity| {
        detectors(facts, |verdict| {
            verdict.outcome == Outcome::Finding && verdict.severity == severity
        })
    };
    let critical = found(Severity::Critical)
        .map(|names| sentence!("The server has a problem to fix: {names}."));
    let worth = if critical.is_some() {
        "Also worth"
    } else {
        "Worth"
    };
    let warnings = found(Severity::Warning).map(|names| sentence!("{worth} a look: {names}."));
    let said: Vec<Message> = critical.into_iter().chain(warnings).collect();
    (!said.is_empty()).then(|| Message::join(said, " "))
}

/// The names of some detectors; none of none.
fn detectors(facts: &Facts, is_wanted: impl Fn(&Verdict) -> bool) -> Option<Message> {
    let names: Vec<&str> = facts
        .verdicts
        .iter()
        .filter(|verdict| is_wanted(verdict))
        .map(|verdict| verdict.detector.as_str())
        .collect();

    (!names.is_empty()).then(|| quoted_names(&names))
}

pub fn checks_unfinished(facts: &Facts) -> Option<Message> {
    let open = detectors(facts, |verdict| verdict.outcome == Outcome::Inconclusive)?;
    Some(sentence!(
        "This run cannot say anything about {open}; that is not a pass."
    ))
}

pub fn concentrated_on_tool(facts: &Facts) -> Option<Message> {
    if facts.tools.len() < 2 {
        return None;
    }
    let errors = facts.tools.iter().map(|tool| tool.errors);
    let total = errors.fold(0, u64::saturating_add);
    let tool = facts.tools.iter().max_by_key(|tool| tool.errors)?;
    let held = share(tool.errors, total)?;
    (tool.errors >= ERRORS_MIN && held >= TOOL_SHARE_MIN).then(|| {
        sentence!(
            "Errors are concentrated on {}: {} of {}; the other tools are nearly free of them.",
            quoted(&tool.name),
            whole(tool.errors),
            whole(total)
        )
    })
}

pub fn concentrated_in_category(facts: &Facts) -> Option<Message> {
    let total = facts.errors.values().copied().fold(0, u64::saturating_add);
    let (category, count) = facts.errors.iter().max_by_key(|(_, count)| **count)?;
    let held = share(*count, total)?;
    if held < CATEGORY_SHARE_MIN {
        return None;
    }
    let errors = if total == 1 {
        format!("The one error is a {category}")
    } else {
        format!(
            "{} of {} errors are {category}",
            whole(*count),
            whole(total)
        )
    };
    Some(sentence!("{errors}: {}.", category.hint()))
}

/// The rule of three: no event in n tries bounds its rate at 3/n with 95 % confidence (Hanley &
/// Lippman-Hand 1983).
pub fn none_seen(facts: &Facts) -> Option<Message> {
    (facts.attempted >= CLEAN_CALLS_MIN && facts.succeeded >= facts.attempted).then(|| {
        sentence!(
            "No error in {}: the true error rate is below {} with 95 % confidence.",
            counted(facts.attempted, "call"),
            small_percent(3.0 / float(facts.attempted))
        )
    })
}

/// A percentage with two digits that mean something, however small.
fn small_percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent >= 0.01 {
        2
    } else {
        let digits = (1..DIGITS_MAX).find(|digits| percent * 10_f64.powi(*digits) >= 10.0);
        usize::try_from(digits.unwrap_or(DIGITS_MAX)).unwrap_or_default()
    };
    format!("{}%", decimal(percent, digits))
}
