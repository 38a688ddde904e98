//! Whether every reply reaches the caller it belongs to.
//!
//! Each call carries a token of its own in its arguments. A reply that holds it is checked, one
//! that holds the token of another call is crossed, a call that got none though its session
//! lived on is lost, and a reply without any token is unchecked: the tool does not echo. No formula,
//! only counts: one crossed reply is one too many.
//!
//! A foreign token is no proof by itself: a tool may return what earlier calls stored. So each tool is first called alone
//! with two tokens (its *control*), and a foreign token counts only where the call that it belongs to was under way
//! at the same time. A sample of the replies that hold no token is compared with what the same call gets alone.

use crate::prelude::*;

pub const ID: &str = "isolation";

/// Examples worth keeping: more say nothing new.
pub const EXAMPLES_MAX: usize = 5;

/// Sampled replies below which a comparison alone is no pass.
pub const COMPARED_MIN: u64 = 10;

/// What calls made alone say of the tokens in the replies of a tool.
#[choice(Copy, Eq)]
pub enum TokenControl {
    /// Its replies hold their own token, or none.
    Clean,
    /// A reply held the token of an earlier call: it returns stored text.
    Stored,
    /// No call made alone was answered.
    Unknown,
}

/// Replies of one tool that held a token of another call, and not their own.
#[stored(Copy, Default, Eq)]
pub struct ForeignTokens {
    /// Of a call that was under way at the same time.
    pub crossed: u64,
    /// Of a call that was over before, or that was too long ago to be known.
    pub stale: u64,
}

/// Where the replies went.
#[sparse]
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
    /// Replies without any token that are what the same call gets alone: of a sample.
    #[sparse]
    pub compared: u64,
    /// Replies in that sample that are neither what the same call gets alone nor what another gets.
    #[sparse]
    pub altered: u64,
    /// Replies that held the token of another call and prove nothing: of a call that was over, or of a tool that
    /// returns stored text or could not be called alone.
    #[sparse]
    pub unproven: u64,
    /// Tools that return text of earlier calls, so that tokens prove nothing.
    #[sparse]
    pub stored_text: Vec<String>,
    /// Tools with replies that held the token of another call, and that could not be called alone.
    #[sparse]
    pub uncontrolled: Vec<String>,
    /// Tools with replies that mostly held the token of a call that was over, and that return no stored text alone.
    #[sparse]
    pub stale_text: Vec<String>,
    /// Some crossed or lost calls, for people.
    pub examples: Vec<String>,
}

/// Of the replies to different calls made alone, the share that must differ from the others.
const DISTINCT_SHARE_MIN: f64 = 0.9;

/// Whether so many different replies to so many different calls, made alone, tell the calls apart: where a tool has few replies,
/// one is what another call gets by chance.
pub fn tell_calls_apart(calls: usize, replies: usize) -> bool {
    let distinct = share(replies as u64, calls as u64);
    calls > 1 && distinct.is_some_and(|distinct| distinct >= DISTINCT_SHARE_MIN)
}

/// What several looks at a tool say of it.
pub fn control_of(found: impl IntoIterator<Item = TokenControl>) -> TokenControl {
    found
        .into_iter()
        .fold(TokenControl::Unknown, |known, found| match (known, found) {
            (TokenControl::Stored, _) | (_, TokenControl::Stored) => TokenControl::Stored,
            (TokenControl::Clean, _) | (_, TokenControl::Clean) => TokenControl::Clean,
            _ => TokenControl::Unknown,
        })
}

impl IsolationReport {
    /// Adds what the replies of a tool held, by what it does alone.
    pub fn add_tool(&mut self, tool: &str, control: TokenControl, tokens: ForeignTokens) {
        let ForeignTokens { crossed, stale } = tokens;
        // Where most are of calls that were over, the others may be of calls under way by chance.
        let is_stale = stale > crossed;
        if control == TokenControl::Stored {
            self.stored_text.push(tool.to_owned());
        } else if control == TokenControl::Clean && is_stale {
            self.stale_text.push(tool.to_owned());
        } else if control == TokenControl::Clean {
            self.crossed += crossed;
            self.unproven += stale;
            return;
        } else if crossed + stale > 0 {
            self.uncontrolled.push(tool.to_owned());
        }
        self.unproven += crossed + stale;
    }

    /// Tools of which nothing is known.
    fn stored_text_remark(&self) -> Message {
        match self.stored_text.len() {
            0 => Message::default(),
            1 => sentence!(
                " Nothing is known of {}: it returns text of earlier calls.",
                quoted_names(&self.stored_text)
            ),
            _ => sentence!(
                " Nothing is known of {}: they return text of earlier calls.",
                quoted_names(&self.stored_text)
            ),
        }
    }

    /// That every reply that was checked is right.
    fn passed(&self) -> Message {
        let stored_text = self.stored_text_remark();
        let unchecked = self.unchecked.saturating_sub(self.compared);
        let (every, others) = match unchecked {
            0 => ("Every reply", String::new()),
            1 => (
                "Every reply that could be checked",
                "; 1 could not".to_owned(),
            ),
            _ => (
                "Every reply that could be checked",
                format!("; {} could not", whole(unchecked)),
            ),
        };
        match (self.checked, self.compared) {
            (0, compared) => sentence!(
                "The replies in a sample of {} are what the same calls get alone.{stored_text}",
                whole(compared)
            ),
            (checked, 0) => sentence!(
                "{every} reached its own caller: {} checked{others}.{stored_text}",
                replies(checked)
            ),
            (checked, compared) => sentence!(
                "{every} reached its own caller: {} checked by their tokens, and {} in a sample are what the same calls get alone{others}.{stored_text}",
                replies(checked),
                whole(compared)
            ),
        }
    }

    /// Why it cannot be told whether replies reached their callers, with what would help.
    fn unknown(&self) -> Option<(Message, Message)> {
        if !self.uncontrolled.is_empty() {
            let sentence = sentence!(
                "Replies of {} held the token of another call, but no call made alone was answered to show that they do not return stored text.",
                quoted_names(&self.uncontrolled)
            );
            let hint = "look at why the server answers no call made alone, and run again";
            return Some((sentence, hint.into()));
        }
        if !self.stale_text.is_empty() {
            let sentence = sentence!(
                "{} of {} held the token of a call that was over, though called alone it returns no text of earlier calls: a shared result, or text that is stored under load only.",
                replies(self.unproven),
                quoted_names(&self.stale_text)
            );
            let hint = "look for a result, a buffer or a cache that calls share; a tool that returns stored text on purpose proves nothing";
            return Some((sentence, hint.into()));
        }
        if self.altered > 0 {
            let sentence = sentence!(
                "Of a sample of {}, {} {} not what the same call gets alone. They are not replies to other calls, so the tool may depend on the load.",
                replies(self.compared + self.altered),
                whole(self.altered),
                are(self.altered)
            );
            let hint = sentence!("run the scenario `race_check`, which looks closer");
            return Some((sentence, hint));
        }
        if self.checked > 0 || self.compared >= COMPARED_MIN {
            return None;
        }
        let is_stored = !self.stored_text.is_empty();
        let sentence = if is_stored {
            let stored_text = self.stored_text_remark();
            sentence!(
                "It could not be checked whether replies reach the right caller.{stored_text}"
            )
        } else {
            "No tool echoes what it is given, so it could not be checked whether replies reach the right caller.".into()
        };
        let hint = if is_stored {
            sentence!("call a tool with a reply that depends on its own arguments only")
        } else {
            sentence!(
                "call a tool that returns a text argument, and leave out {} so that it carries a token",
                setting("args")
            )
        };
        Some((sentence, hint))
    }
}

/// The verdict `isolation`; a crossed reply is critical. Calls without an answer are judged by `deadlock`.
pub fn verdict(report: &IsolationReport) -> Verdict {
    let example = report.examples.first().map_or(String::new(), |example| {
        format!(" For example: {}", phrase::text(example))
    });
    let verdict = if report.crossed > 0 {
        Verdict::critical(
            ID,
            format!(
                "{} reached the wrong call.{example}",
                replies(report.crossed)
            ),
            "look for state shared between calls: a global request, a buffer that is reused, ids mixed up between sessions",
        )
    } else if let Some((sentence, hint)) = report.unknown() {
        Verdict::inconclusive(ID, sentence, hint)
    } else {
        Verdict::pass(ID, report.passed())
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
            ..IsolationReport::default()
        }
    }

    #[test]
    fn counts_decide() {
        let cases = [
            (
                report(10, 0, 0),
                Outcome::Pass,
                "Every reply that could be checked reached its own caller: 10 replies checked; 7 could not.",
            ),
            (
                report(1, 0, 0),
                Outcome::Pass,
                "Every reply that could be checked reached its own caller: 1 reply checked; 7 could not.",
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
            // What had no answer is judged elsewhere.
            (
                report(10, 0, 3),
                Outcome::Pass,
                "Every reply that could be checked reached its own caller: 10 replies checked; 7 could not.",
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
    fn few_replies_do_not_tell_calls_apart() {
        // Temperatures in whole degrees, and texts.
        let cases = [
            (0, 0, false),
            (1, 1, false),
            (2, 2, true),
            (20, 14, false),
            (128, 41, false),
            (128, 126, true),
        ];
        for (calls, replies, expected) in cases {
            assert_eq!(
                tell_calls_apart(calls, replies),
                expected,
                "{calls} {replies}"
            );
        }
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

    #[test]
    fn a_foreign_token_is_proof_only_for_a_tool_that_returns_no_stored_text() {
        use TokenControl::{Clean, Stored, Unknown};
        let cases = [
            (Clean, 3, 0, Outcome::Finding, 3),
            (Clean, 3, 3, Outcome::Finding, 3),
            (Clean, 3, 4, Outcome::Inconclusive, 0),
            (Clean, 0, 2, Outcome::Inconclusive, 0),
            (Stored, 0, 2, Outcome::Pass, 0),
            (Unknown, 0, 2, Outcome::Inconclusive, 0),
            (Stored, 7219, 0, Outcome::Pass, 0),
            (Unknown, 3, 0, Outcome::Inconclusive, 0),
            (Unknown, 0, 0, Outcome::Pass, 0),
        ];
        for (control, crossed, stale, outcome, counted) in cases {
            let mut all = report(10, 0, 0);
            all.add_tool("notes", control, ForeignTokens { crossed, stale });
            let verdict = verdict(&all);
            let case = format!("{control:?} {crossed} {stale}: {verdict:?}");
            assert_eq!((verdict.outcome, all.crossed), (outcome, counted), "{case}");
            assert_eq!(all.crossed + all.unproven, crossed + stale, "{case}");
        }
    }

    #[test]
    fn nothing_is_known_of_a_tool_that_returns_stored_text() {
        let mut only = report(0, 0, 0);
        let foreign = ForeignTokens {
            crossed: 7219,
            stale: 0,
        };
        only.add_tool("notes", TokenControl::Stored, foreign);
        let alone = verdict(&only);
        assert_eq!(alone.outcome, Outcome::Inconclusive);
        assert_eq!(
            alone.sentence.rendered(),
            "It could not be checked whether replies reach the right caller. Nothing is known of `notes`: it returns text of earlier calls."
        );
        only.checked = 12;
        let others = verdict(&only);
        assert_eq!(others.outcome, Outcome::Pass);
        assert_eq!(
            others.sentence.rendered(),
            "Every reply that could be checked reached its own caller: 12 replies checked; 7 could not. Nothing is known of `notes`: it returns text of earlier calls."
        );
    }

    #[test]
    fn a_comparison_of_a_sample_is_a_pass_if_it_is_large_enough() {
        for (compared, outcome) in [(9, Outcome::Inconclusive), (10, Outcome::Pass)] {
            let sampled = IsolationReport {
                compared,
                ..report(0, 0, 0)
            };
            assert_eq!(verdict(&sampled).outcome, outcome);
        }
        let sampled = IsolationReport {
            compared: 20,
            ..report(0, 0, 0)
        };
        assert_eq!(
            verdict(&sampled).sentence.rendered(),
            "The replies in a sample of 20 are what the same calls get alone."
        );
    }

    #[test]
    fn replies_that_differ_from_those_alone_and_are_nobodys_are_inconclusive() {
        // Also where the replies of another tool were checked.
        let sampled = IsolationReport {
            compared: 20,
            altered: 2,
            ..report(12, 0, 0)
        };
        let verdict = verdict(&sampled);
        assert_eq!(verdict.outcome, Outcome::Inconclusive);
        assert_eq!(
            verdict.sentence.rendered(),
            "Of a sample of 22 replies, 2 are not what the same call gets alone. They are not replies to other calls, so the tool may depend on the load."
        );
    }

    proptest! {
        #[test]
        fn a_pass_needs_a_checked_reply(checked in any::<u64>(), crossed in any::<u64>(), lost in any::<u64>()) {
            let verdict = verdict(&report(checked, crossed, lost));
            prop_assert_eq!(verdict.outcome == Outcome::Pass, checked > 0 && crossed == 0);
        }
    }
}
