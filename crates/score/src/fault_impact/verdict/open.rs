//! Why something about a fault is not known, and what would show it.

use super::names;
use crate::fault_impact::{CALLS_BEFORE_MIN, FaultImpact, OpenReason};

/// Why it is not known whether all was back, and what to try.
pub fn because(impact: &FaultImpact) -> (String, &'static str) {
    let (reason, hint) = match impact.open.unwrap_or(OpenReason::ShortAfter) {
        OpenReason::FewBefore => (
            "There were too few calls before it to compare with.",
            "let the fault start later: start = \"10s\"",
        ),
        OpenReason::ShortAfter => (
            "There was too little time after it to see whether all is back.",
            "let the fault end earlier, or the run later: at least 3 s before the end",
        ),
        OpenReason::HeldTooLong => (
            "The calls that it struck were held for so long that  too little time was left to see whether all is back.",
            "let the run last longer, the fault start earlier, or hung calls be given up sooner (hang_timeout)",
        ),
        OpenReason::OtherFault => (
            "Another fault was on before all could be seen to be back.",
            "leave a few seconds between the faults",
        ),
        OpenReason::LoadChanged => (
            "The load changed while it was on, so that the calls before and after are not alike.",
            "let the fault start and end while the load is steady, a few seconds after it began and before it changes; or use the scenario sustained",
        ),
        OpenReason::RareTools => {
            let tools = names(&impact.not_back);
            return (
                format!("Too few calls of {tools} ended after it to see whether all is back."),
                "let the run last longer, or call these tools more often",
            );
        }
        OpenReason::CoarseStretches => (
            "The run is so long that the time until all was back is known too roughly for the limit.",
            "make the run shorter, or max_recovery longer",
        ),
    };
    (reason.to_owned(), hint)
}

/// Why it is not known that no other tool suffered, if it is not, and what to try.
pub fn unseen_spread(impact: &FaultImpact) -> Option<(String, &'static str)> {
    let others = || impact.tools.iter().filter(|tool| !tool.is_aimed_at);
    if impact.tool.is_none() {
        let reason = "It was aimed at every tool, so that there was no other that could suffer.";
        return Some((reason.to_owned(), "aim the fault at one tool"));
    }
    if others().next().is_none() {
        let reason = "No other tool was called, so that none could be seen to suffer.";
        return Some((reason.to_owned(), "call other tools as well"));
    }
    if impact.open == Some(OpenReason::LoadChanged) {
        return Some(because(impact));
    }
    let unseen: Vec<String> = others()
        .filter(|tool| !tool.is_judged)
        .map(|tool| tool.tool.clone())
        .collect();
    if unseen.is_empty() {
        return None;
    }
    let hint = if impact.before.calls < CALLS_BEFORE_MIN {
        "let the fault start later: start = \"10s\""
    } else {
        "let the run and the fault last longer, or call these tools more often"
    };
    let reason = format!(
        "Too few calls of {} ended before it or until all was back to see whether they suffered.",
        names(&unseen)
    );
    Some((reason, hint))
}
