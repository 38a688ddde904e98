//! Rules about what failed, and what was found.

use mcprove_settings::number::{float, share};
use mcprove_settings::phrase;

use super::Facts;
use crate::verdict::{Outcome, Severity};

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

pub(super) fn nothing_succeeded(facts: &Facts) -> Option<String> {
    // Bad input is sent instead of calls.
    let is_fuzzed = facts
        .verdicts
        .iter()
        .any(|verdict| verdict.detector == "fuzz");
    match (facts.attempted, facts.succeeded) {
        (0, _) if is_fuzzed => None,
        (0, _) if facts.unanswered > 0 => Some(format!(
            "No call was answered: {} waited when the run was interrupted, so it says little about the server.",
            phrase::count(facts.unanswered, "call")
        )),
        (0, _) => Some("No call was made, so this run says nothing about the server.".to_owned()),
        (attempted, 0) => Some(format!(
            "No call succeeded: {} failed, so the latencies say nothing about the server.",
            phrase::count(attempted, "call")
        )),
        _ => None,
    }
}

pub(super) fn problems_found(facts: &Facts) -> Option<String> {
    let of = |severity| {
        facts
            .verdicts
            .iter()
            .filter(|verdict| verdict.outcome == Outcome::Finding && verdict.severity == severity)
            .map(|verdict| verdict.detector.as_str())
            .collect::<Vec<&str>>()
    };
    let (critical, warnings) = (of(Severity::Critical), of(Severity::Warning));
    match (critical.is_empty(), warnings.is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!(
            "The server has a problem to fix: {}.",
            phrase::names(&critical)
        )),
        (true, false) => Some(format!("Worth a look: {}.", phrase::names(&warnings))),
        (false, false) => Some(format!(
            "The server has a problem to fix: {}. Also worth a look: {}.",
            phrase::names(&critical),
            phrase::names(&warnings)
        )),
    }
}

pub(super) fn checks_unfinished(facts: &Facts) -> Option<String> {
    let open: Vec<&str> = facts
        .verdicts
        .iter()
        .filter(|verdict| verdict.outcome == Outcome::Inconclusive)
        .map(|verdict| verdict.detector.as_str())
        .collect();
    (!open.is_empty()).then(|| {
        format!(
            "This run cannot say anything about {}; that is not a pass.",
            phrase::names(&open)
        )
    })
}

pub(super) fn concentrated_on_tool(facts: &Facts) -> Option<String> {
    if facts.tools.len() < 2 {
        return None;
    }
    let total = facts
        .tools
        .iter()
        .map(|tool| tool.errors)
        .fold(0, u64::saturating_add);
    let tool = facts.tools.iter().max_by_key(|tool| tool.errors)?;
    let held = share(tool.errors, total)?;
    if tool.errors < ERRORS_MIN || held < TOOL_SHARE_MIN {
        return None;
    }
    Some(format!(
        "Errors are concentrated on {}: {} of {}; the other tools are nearly free of them.",
        phrase::name(&tool.name),
        phrase::whole(tool.errors),
        phrase::whole(total)
    ))
}

pub(super) fn concentrated_in_category(facts: &Facts) -> Option<String> {
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
            phrase::whole(*count),
            phrase::whole(total)
        )
    };
    Some(format!("{errors}: {}.", category.hint().text()))
}

/// The rule of three: no event in n tries bounds its rate at 3/n with 95 % confidence (Hanley &
/// Lippman-Hand 1983).
pub(super) fn none_seen(facts: &Facts) -> Option<String> {
    if facts.attempted < CLEAN_CALLS_MIN || facts.failed() > 0 {
        return None;
    }
    Some(format!(
        "No error in {}: the true error rate is below {} with 95 % confidence.",
        phrase::count(facts.attempted, "call"),
        small_percent(3.0 / float(facts.attempted))
    ))
}

/// A percentage with two digits that mean something, however small.
fn small_percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 0.01 {
        format!("{}%", phrase::decimal(percent, 2))
    } else {
        // Two digits after the zeros; nobody makes more calls than that takes.
        let digits = (1..DIGITS_MAX).find(|digits| percent * 10_f64.powi(*digits) >= 10.0);
        let digits = usize::try_from(digits.unwrap_or(DIGITS_MAX)).unwrap_or_default();
        format!("{}%", phrase::decimal(percent, digits))
    }
}
