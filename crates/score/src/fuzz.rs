//! What a server does with requests that no client should send.
//!
//! Each hostile payload ends in exactly one outcome: rejected or accepted, both of which leave a
//! server that answers; unanswered; broken (a valid call fails since then that worked before); wedged (it lives and
//! answers nothing any more, or no valid call); or crashed. The last two are critical, and so is a broken one where a
//! fresh session still works: then it was the payload that broke this one. Accepting is only counted: a lenient server is not a broken one.
//!
//! Silence is a warning only where an answer is due: where the payload is a request whose id can be
//! read, so that a client would wait for the answer until it times out. JSON-RPC has an error
//! without an id for what cannot be read at all, but no client can wait for that one, and most
//! servers say nothing: such silence is counted, and no more.

use crate::prelude::*;

pub const ID: &str = "fuzz";

/// What came back for a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// An error: JSON-RPC, HTTP, or a result with `isError`.
    Error,
    /// A result.
    Result,
    /// Nothing.
    None,
}

/// How a payload ended.
#[choice(Copy, Eq, PartialOrd, Ord, Hash)]
pub enum FuzzOutcome {
    /// Refused with an error.
    Rejected,
    /// Taken as if it were fine.
    Accepted,
    /// Not answered; the server lives.
    Unanswered,
    /// A valid call that worked before fails since then.
    Broken,
    /// The server lives and answers nothing any more, or no valid call.
    Wedged,
    /// The server process ended.
    Crashed,
}

/// One payload.
#[data(Eq)]
pub struct FuzzCase {
    /// The name of the payload.
    pub payload: String,
    /// How it ended.
    pub outcome: FuzzOutcome,
    /// What was seen, for people.
    pub detail: String,
    /// How often it was sent and ended this way.
    pub times: u32,
    /// Whether a client would wait for an answer.
    #[serde(default = "yes")]
    pub is_answer_due: bool,
    /// Whether valid calls worked on a fresh session all the same, where they did not on this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_fresh_fine: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

const fn yes() -> bool {
    true
}

/// All payloads, and how many times each outcome was seen.
#[data(open, Eq)]
pub struct FuzzReport {
    /// The payloads.
    pub cases: Vec<FuzzCase>,
    /// Times a payload was refused.
    pub rejected: u32,
    /// Times a payload was taken.
    pub accepted: u32,
    /// Times a payload was not answered.
    pub unanswered: u32,
    /// Times a valid call failed since then.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub broken: u32,
    /// Times the server stopped answering.
    pub wedged: u32,
    /// Times the server ended.
    pub crashed: u32,
}

/// Classifies one payload by its answer, whether the server answers a liveness request after it,
/// and whether its process ended.
pub fn classify(answer: Answer, is_alive: bool, process_ended: bool) -> FuzzOutcome {
    match answer {
        _ if process_ended => FuzzOutcome::Crashed,
        _ if !is_alive => FuzzOutcome::Wedged,
        Answer::Error => FuzzOutcome::Rejected,
        Answer::Result => FuzzOutcome::Accepted,
        Answer::None => FuzzOutcome::Unanswered,
    }
}

/// Counts the outcomes. Cases of the same payload with the same outcome become one.
pub fn report(cases: Vec<FuzzCase>) -> FuzzReport {
    let mut gathered: Vec<FuzzCase> = Vec::new();
    for case in cases {
        let mut known = gathered.iter_mut();
        match known.find(|known| known.payload == case.payload && known.outcome == case.outcome) {
            Some(known) => known.times = known.times.saturating_add(case.times),
            None => gathered.push(case),
        }
    }
    let cases = gathered;
    let count = |outcome| {
        cases
            .iter()
            .filter(|case| case.outcome == outcome)
            .map(|case| case.times)
            .fold(0, u32::saturating_add)
    };
    FuzzReport {
        rejected: count(FuzzOutcome::Rejected),
        accepted: count(FuzzOutcome::Accepted),
        unanswered: count(FuzzOutcome::Unanswered),
        broken: count(FuzzOutcome::Broken),
        wedged: count(FuzzOutcome::Wedged),
        crashed: count(FuzzOutcome::Crashed),
        cases,
    }
}

/// The verdict `fuzz`: a wedged, crashed or broken server is critical, silence where an answer is due a
/// warning.
pub fn verdict(report: &FuzzReport) -> Verdict {
    let named = |counts: &dyn Fn(&FuzzCase) -> bool| -> Vec<&str> {
        let cases = report.cases.iter().filter(|case| counts(case));
        let names: BTreeSet<&str> = cases.map(|case| case.payload.as_str()).collect();
        names.into_iter().collect()
    };
    let crashed = named(&|case| case.outcome == FuzzOutcome::Crashed);
    let wedged = named(&|case| case.outcome == FuzzOutcome::Wedged);
    let broken = named(&|case| case.outcome == FuzzOutcome::Broken && case.is_fresh_fine);
    let failing = named(&|case| case.outcome == FuzzOutcome::Broken && !case.is_fresh_fine);
    let unanswered = named(&|case| case.outcome == FuzzOutcome::Unanswered && case.is_answer_due);
    let down = [("ends on", &crashed), ("stops answering after", &wedged)]
        .into_iter()
        .filter(|(_, payloads)| !payloads.is_empty());
    let parts: Vec<Message> = down
        .map(|(how, payloads)| sentence!("{how} {}", quoted_names(payloads)))
        .collect();
    let verdict = if !parts.is_empty() {
        Verdict::critical(
            ID,
            sentence!(
                "Bad input takes the whole server down: it {}.",
                Message::join(parts, ", and it ")
            ),
            "catch every error around reading and handling one message, answer it with a JSON-RPC error and read on",
        )
    } else if !broken.is_empty() {
        Verdict::critical(
            ID,
            sentence!(
                "Bad input breaks the server for later calls: one that worked before fails after {}, and works on a fresh session.",
                quoted_names(&broken)
            ),
            "check the arguments before anything is changed, and let go of what a call holds when it fails",
        )
    } else if !failing.is_empty() {
        Verdict::warning(
            ID,
            sentence!(
                "A valid call that worked before fails after {}, on a fresh session too; so it may fail for another reason.",
                quoted_names(&failing)
            ),
            "read what the call answers, and check whether it works again when the server is started anew",
        )
    } else if !unanswered.is_empty() {
        Verdict::warning(
            ID,
            sentence!(
                "The server survives all bad input but leaves some without an answer: {}.",
                quoted_names(&unanswered)
            ),
            "answer a request that cannot be handled with a JSON-RPC error; a client waits for silence until it times out",
        )
    } else if report.cases.is_empty() {
        Verdict::inconclusive(ID, "No bad input was sent.", "send at least one payload")
    } else {
        let dropped = match report.unanswered {
            0 => String::new(),
            count => format!(", {count} ignored"),
        };
        Verdict::pass(
            ID,
            format!(
                "The server survives all bad input: {} rejected, {} accepted{dropped}.",
                report.rejected, report.accepted
            ),
        )
    };
    verdict.numbers_in(report)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::verdict::Outcome;

    fn case(payload: &str, outcome: FuzzOutcome, times: u32) -> FuzzCase {
        FuzzCase {
            payload: payload.into(),
            outcome,
            detail: String::new(),
            times,
            is_answer_due: true,
            is_fresh_fine: false,
        }
    }

    #[test]
    fn the_state_of_the_server_goes_before_its_answer() {
        let cases = [
            (Answer::Error, true, false, FuzzOutcome::Rejected),
            (Answer::Result, true, false, FuzzOutcome::Accepted),
            (Answer::None, true, false, FuzzOutcome::Unanswered),
            (Answer::Error, false, false, FuzzOutcome::Wedged),
            (Answer::None, false, false, FuzzOutcome::Wedged),
            (Answer::None, false, true, FuzzOutcome::Crashed),
            (Answer::Result, true, true, FuzzOutcome::Crashed),
        ];
        for (answer, alive, ended, expected) in cases {
            assert_eq!(
                classify(answer, alive, ended),
                expected,
                "{answer:?} {alive} {ended}"
            );
        }
    }

    #[test]
    fn a_server_that_survives_passes() {
        let report = report(vec![
            case("not_json", FuzzOutcome::Rejected, 1),
            case("huge_id", FuzzOutcome::Accepted, 2),
            case("not_json", FuzzOutcome::Rejected, 2),
        ]);
        assert_eq!(report.cases.len(), 2);
        assert_eq!((report.rejected, report.accepted), (3, 2));
        let verdict = verdict(&report);
        assert_eq!(verdict.outcome, Outcome::Pass);
        assert_eq!(
            verdict.sentence,
            "The server survives all bad input: 3 rejected, 2 accepted."
        );
    }

    #[test]
    fn a_server_that_falls_is_named_with_the_payload() {
        let report = report(vec![
            case("not_json", FuzzOutcome::Crashed, 1),
            case("deep", FuzzOutcome::Wedged, 1),
            case("quiet", FuzzOutcome::Unanswered, 1),
        ]);
        let verdict = verdict(&report);
        assert!(verdict.is_failure());
        assert_eq!(
            verdict.sentence,
            "Bad input takes the whole server down: it ends on `not_json`, and it stops answering after `deep`."
        );
    }

    #[test]
    fn a_server_whose_calls_fail_is_broken_where_a_fresh_session_works() {
        for (is_fresh_fine, severity) in [(true, Severity::Critical), (false, Severity::Warning)] {
            let broken = FuzzCase {
                is_fresh_fine,
                ..case("wrong_type", FuzzOutcome::Broken, 1)
            };
            let report = report(vec![broken, case("array", FuzzOutcome::Rejected, 1)]);
            assert_eq!(report.broken, 1);
            let verdict = verdict(&report);
            assert_eq!(
                (verdict.outcome, verdict.severity),
                (Outcome::Finding, severity)
            );
            assert!(verdict.sentence.rendered().contains("after `wrong_type`"));
        }
    }

    #[test]
    fn silence_is_a_warning_and_nothing_sent_is_inconclusive() {
        let silent = verdict(&report(vec![case("quiet", FuzzOutcome::Unanswered, 1)]));
        assert_eq!(
            (silent.outcome, silent.severity),
            (Outcome::Finding, Severity::Warning)
        );
        assert!(
            silent
                .sentence
                .rendered()
                .ends_with("without an answer: `quiet`.")
        );
        assert_eq!(verdict(&report(vec![])).outcome, Outcome::Inconclusive);
    }

    #[test]
    fn silence_that_nobody_waits_for_is_only_counted() {
        let dropped = FuzzCase {
            is_answer_due: false,
            ..case("not_json", FuzzOutcome::Unanswered, 2)
        };
        let report = report(vec![dropped, case("array", FuzzOutcome::Rejected, 1)]);
        assert_eq!(report.unanswered, 2);
        let verdict = verdict(&report);
        assert_eq!(verdict.outcome, Outcome::Pass);
        assert_eq!(
            verdict.sentence,
            "The server survives all bad input: 1 rejected, 0 accepted, 2 ignored."
        );
    }

    proptest! {
        #[test]
        fn counts_never_overflow(times in prop::collection::vec(any::<u32>(), 0..6)) {
            let report = report(times.iter().map(|times| case("p", FuzzOutcome::Wedged, *times)).collect());
            prop_assert!(times.iter().all(|times| report.wedged >= *times));
            verdict(&report);
        }
    }
}
