//! Whether every reply reaches the caller it belongs to.
//!
//! Each call carries a token of its own in its arguments. A reply that holds it is checked, one
//! that holds the token of another call is crossed, a call that got none though its session
//! lived on is lost, and a reply without any token is unchecked: the tool does not echo. No formula,
//! only counts: one crossed reply is one too many.

use crate::prelude::*;

/// Examples worth keeping: more say nothing new.
pub const EXAMPLES_MAX: usize = 5;

/// Where the replies went.
#[data(Default, Eq)]
pub struct IsolationReport {
    /// Replies that held their own token.
    pub checked: u64,
    /// Replies that held the token of another call.
    pub crossed: u64,
    /// Calls never answered though their session lived.
    pub lost: u64,
    /// Replies without any token.
    pub unchecked: u64,
    /// Some crossed or lost calls, for people.
    pub examples: Vec<String>,
}

/// The verdict `isolation`; a crossed or lost reply is critical.
pub fn verdict(report: &IsolationReport) -> Verdict {
    let example = report.examples.first().map_or(String::new(), |example| {
        format!(" For example: {}", phrase::text(example))
    });
    let verdict = if report.crossed > 0 {
        Verdict::critical(
            "isolation",
            format!(
                "{} reached the wrong call.{example}",
                replies(report.crossed)
            ),
            "look for state shared between calls: a global request, a buffer that is reused, ids mixed up between sessions",
        )
    } else if report.lost > 0 {
        Verdict::critical(
            "isolation",
            format!(
                "{} got no answer though {} session lived.{example}",
                counted(report.lost, "call"),
                if report.lost == 1 { "its" } else { "their" },
            ),
            "look for replies that are dropped under load: writes that are not awaited, full queues, tasks that end silently",
        )
    } else if report.checked == 0 {
        Verdict::inconclusive(
            "isolation",
            "No tool echoes what it is given, so it could not be checked whether replies reach the right caller.",
            sentence!(
                "call a tool that returns a text argument, and leave out {} so that it carries a token",
                setting("args")
            ),
        )
    } else {
        Verdict::pass(
            "isolation",
            format!(
                "Every reply reached its own caller: {} checked.",
                replies(report.checked)
            ),
        )
    };
    verdict.numbers_in(report)
}

fn replies(count: u64) -> String {
    match count {
        1 => "1 reply".to_owned(),
        _ => format!("{} replies", whole(count)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::verdict::Outcome;

    fn report(checked: u64, crossed: u64, lost: u64) -> IsolationReport {
        IsolationReport {
            checked,
            crossed,
            lost,
            unchecked: 7,
            examples: vec![],
        }
    }

    #[test]
    fn counts_decide() {
        let cases = [
            (
                report(10, 0, 0),
                Outcome::Pass,
                "Every reply reached its own caller: 10 replies checked.",
            ),
            (
                report(1, 0, 0),
                Outcome::Pass,
                "Every reply reached its own caller: 1 reply checked.",
            ),
            (
                report(10, 2, 3),
                Outcome::Finding,
                "2 replies reached the wrong call.",
            ),
            (
                report(0, 1, 0),
                Outcome::Finding,
                "1 reply reached the wrong call.",
            ),
            (
                report(10, 0, 3),
                Outcome::Finding,
                "3 calls got no answer though their session lived.",
            ),
            (
                report(0, 0, 1),
                Outcome::Finding,
                "1 call got no answer though its session lived.",
            ),
        ];
        for (report, outcome, sentence) in cases {
            let verdict = verdict(&report);
            assert_eq!(
                (verdict.outcome, verdict.sentence.rendered().as_str()),
                (outcome, sentence)
            );
            assert_eq!(verdict.is_failure(), outcome == Outcome::Finding);
            assert_eq!(verdict.numbers["unchecked"], 7);
        }
    }

    #[test]
    fn nothing_checked_is_never_a_pass() {
        let verdict = verdict(&report(0, 0, 0));
        assert_eq!(verdict.outcome, Outcome::Inconclusive);
        assert!(
            verdict
                .sentence
                .rendered()
                .starts_with("No tool echoes what it is given")
        );
    }

    #[test]
    fn an_example_is_shown() {
        let report = IsolationReport {
            examples: vec!["a got b.".into()],
            ..report(0, 1, 0)
        };
        assert!(
            verdict(&report)
                .sentence
                .rendered()
                .ends_with("For example: a got b.")
        );
    }

    proptest! {
        #[test]
        fn a_pass_needs_a_checked_reply(checked in any::<u64>(), crossed in any::<u64>(), lost in any::<u64>()) {
            let verdict = verdict(&report(checked, crossed, lost));
            prop_assert_eq!(verdict.outcome == Outcome::Pass, checked > 0 && crossed == 0 && lost == 0);
        }
    }
}
