//! What becomes of early calls, and what that says of a server.

use mcprove_score::verdict::{Severity, Verdict};

/// When a call comes early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// Together with `tools/list`.
    WithList,
    /// After the answer to `initialize`, before `notifications/initialized`.
    BeforeInitialized,
}

impl Moment {
    /// In words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::WithList => "before tools/list was answered",
            Self::BeforeInitialized => "before notifications/initialized",
        }
    }
}

/// What a server made of an early call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was answered with a result.
    Accepted,
    /// It was answered with an error.
    Rejected,
    /// It is still not answered when it counts as a deadlock.
    Hung,
    /// The server ended.
    Died(String),
    /// It was answered, and then the server no longer did what it did before.
    Broken(String),
}

/// What became of the early calls of one moment.
#[derive(Debug, Default)]
pub(super) struct Tally {
    accepted: u32,
    rejected: u32,
    /// The worst of them, where it is bad.
    pub worst: Option<Fate>,
}

impl Tally {
    /// Counts a fate; false when it is so bad that there is no more to learn.
    pub fn count(&mut self, fate: Fate) -> bool {
        match fate {
            Fate::Accepted => self.accepted += 1,
            Fate::Rejected => self.rejected += 1,
            fate => self.worst = Some(fate),
        }
        self.worst.is_none()
    }

    /// What that says of the server; nothing when no early call was made.
    pub fn verdict(&self, moment: Moment, tool: &str) -> Option<Verdict> {
        let when = moment.describe();
        let verdict = match &self.worst {
            Some(fate) => {
                let what = match fate {
                    Fate::Died(reason) => format!("ends the server: {reason}"),
                    Fate::Broken(reason) => {
                        format!("is answered, and nothing works afterwards: {reason}")
                    }
                    _ => "is never answered; in its proper order it is".to_owned(),
                };
                Verdict::finding(
                    "early_call",
                    Severity::Critical,
                    format!("A call of {tool} {when} {what}."),
                    "set up what calls need before the first message is read, or refuse with an error until it is set up",
                )
            }
            None if self.accepted + self.rejected == 0 => return None,
            None => Verdict::pass(
                "early_call",
                format!(
                    "Calls {when} do no harm: {} accepted, {} refused.",
                    self.accepted, self.rejected
                ),
            ),
        };
        Some(
            verdict
                .number("accepted", self.accepted)
                .number("rejected", self.rejected),
        )
    }
}

#[cfg(test)]
mod tests {
    use mcprove_score::verdict::Outcome;

    use super::*;

    #[test]
    fn the_worst_fate_decides_and_none_is_no_verdict() {
        let mut tally = Tally::default();
        assert!(tally.verdict(Moment::WithList, "t").is_none());
        assert!(tally.count(Fate::Accepted) && tally.count(Fate::Rejected));
        let verdict = tally.verdict(Moment::WithList, "t").unwrap();
        assert_eq!(verdict.outcome, Outcome::Pass);
        assert!(verdict.sentence.contains("1 accepted, 1 refused"));
        for fate in [
            Fate::Hung,
            Fate::Died("exit 1".into()),
            Fate::Broken("x".into()),
        ] {
            let mut tally = Tally::default();
            assert!(!tally.count(fate.clone()));
            let verdict = tally.verdict(Moment::BeforeInitialized, "t").unwrap();
            assert!(verdict.is_failure(), "{fate:?}");
        }
    }
}
