//! What is made of sessions that were opened and left, in `reconnect` and `churn`.

use mcprove_score::sessions::{self, ChurnReport};
use mcprove_score::verdict::{Outcome, Severity, Verdict};

use super::notes::SessionsRecord;

/// What is worth a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Focus {
    /// Each session has a process of its own, which has to end with it.
    Processes,
    /// One process serves all sessions, and has to let go of them.
    Leaks,
    /// One process serves all sessions, which are too few to show what it keeps of them.
    Recovery,
}

/// The verdicts on sessions.
pub fn verdicts(record: &SessionsRecord, judged: &ChurnReport, focus: Focus) -> Vec<Verdict> {
    let judged =
        sessions::verdicts(judged)
            .into_iter()
            .filter(|verdict| match verdict.detector.as_str() {
                "leftovers" => focus == Focus::Processes || verdict.outcome == Outcome::Finding,
                _ => focus == Focus::Leaks,
            });
    std::iter::once(new_sessions(record))
        .chain(judged)
        .collect()
}

/// Whether sessions could be opened and used after others had ended.
fn new_sessions(record: &SessionsRecord) -> Verdict {
    let tried = record.opened + record.failed_opens;
    let verdict = if record.failed_opens > 0 || record.failed_calls > 0 {
        let mut parts = Vec::new();
        if record.failed_opens > 0 {
            parts.push(format!("{} could not be opened", record.failed_opens));
        }
        if record.failed_calls > 0 {
            parts.push(format!(
                "on {} a call failed that had succeeded before",
                record.failed_calls
            ));
        }
        Verdict::finding(
            "new_sessions",
            Severity::Critical,
            format!(
                "The server does not recover from sessions that end: of {tried} sessions {}.",
                parts.join(", and ")
            ),
            "look for what a session that ends takes with it or leaves locked: streams, tasks, a pool of connections",
        )
    } else if record.opened < sessions::SESSIONS_MIN {
        let sentence = if record.opened == 0 {
            "No session was opened."
        } else {
            "No session was opened after another had ended."
        };
        Verdict::inconclusive(
            "new_sessions",
            sentence,
            "give the run more time, or look at the server's stderr",
        )
    } else {
        Verdict::pass(
            "new_sessions",
            format!("All {} sessions were opened and answered.", record.opened),
        )
    };
    verdict
        .number("opened", record.opened)
        .number("failed_opens", record.failed_opens)
        .number("failed_calls", record.failed_calls)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mcprove_score::leak::LeakSettings;
    use mcprove_score::sessions::{ChurnInput, judge};

    use super::*;

    fn judged(leftovers: u64) -> ChurnReport {
        let steady: Vec<_> = (0..20)
            .map(|second| (Duration::from_secs(second), 10.0))
            .collect();
        let input = ChurnInput {
            run: Duration::from_secs(20),
            opened: 10,
            abandoned: 5,
            rss: steady.clone(),
            descriptors: steady,
            leftovers,
            ..ChurnInput::default()
        };
        judge(&input, &LeakSettings::default())
    }

    fn outcomes(record: SessionsRecord, leftovers: u64, focus: Focus) -> Vec<(String, Outcome)> {
        verdicts(&record, &judged(leftovers), focus)
            .into_iter()
            .map(|verdict| (verdict.detector, verdict.outcome))
            .collect()
    }

    #[test]
    fn sessions_are_judged_by_what_they_can_leave_behind() {
        let record = SessionsRecord {
            opened: 10,
            ..SessionsRecord::default()
        };
        let new = ("new_sessions".to_owned(), Outcome::Pass);
        let leak = ("session_leak".to_owned(), Outcome::Pass);
        let left = ("leftovers".to_owned(), Outcome::Pass);
        let found = ("leftovers".to_owned(), Outcome::Finding);
        let cases = [
            (0, Focus::Leaks, vec![new.clone(), leak.clone()]),
            (0, Focus::Processes, vec![new.clone(), left]),
            (0, Focus::Recovery, vec![new.clone()]),
            (1, Focus::Leaks, vec![new, leak, found]),
        ];
        for (leftovers, focus, expected) in cases {
            assert_eq!(outcomes(record, leftovers, focus), expected, "{focus:?}");
        }
    }

    #[test]
    fn sessions_that_fail_are_a_finding_and_none_is_no_evidence() {
        let cases = [
            (10, 1, 0, Outcome::Finding),
            (10, 0, 1, Outcome::Finding),
            (10, 0, 0, Outcome::Pass),
            (1, 0, 0, Outcome::Inconclusive),
            (0, 0, 0, Outcome::Inconclusive),
        ];
        for (opened, failed_opens, failed_calls, expected) in cases {
            let record = SessionsRecord {
                opened,
                failed_opens,
                failed_calls,
                ..SessionsRecord::default()
            };
            assert_eq!(new_sessions(&record).outcome, expected, "{record:?}");
        }
    }
}
