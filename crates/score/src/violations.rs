//! What a server wrote that the protocol does not allow, as one verdict for each cause.
//!
//! | detector | what | how bad |
//! |---|---|---|
//! | `garbled_reply` | a reply with other output on its line: a client that reads lines cannot read it | critical |
//! | `stdout_noise` | whole lines that are no messages | a warning, for each reply is still read |
//! | `protocol` | everything else | critical; a warning where every call was answered and it harmed nobody |
//!
//! Whoever reads the messages decides on the [`Cause`] of each. No formula, only counts.

use crate::prelude::*;

pub const ID: &str = "protocol";

/// What stands behind a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A reply that shares its line with other output.
    Garbled,
    /// Output that is not a message, apart from all messages.
    Noise,
    /// What clients get over, as long as every request gets its answer all the same.
    Harmless,
    /// What breaks the protocol.
    Breach,
}

/// One kind of violation, over all sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViolationCount {
    /// The name of the kind.
    pub kind: String,
    /// What stands behind it.
    pub cause: Cause,
    /// How often it was seen.
    pub count: u64,
    /// The first of them, for people.
    pub example: String,
}

/// What else is known of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViolationContext {
    /// Calls without an answer.
    pub unanswered: u64,
    /// Whether it is known of all that was sent whether it was answered, so that this can be said.
    pub has_calls: bool,
    /// Whether the messages are lines on the stdout of a process.
    pub is_over_stdout: bool,
}

/// The verdicts on what was seen; none where nothing was.
pub fn verdicts(counts: &[ViolationCount], context: ViolationContext) -> Vec<Verdict> {
    let of = |cause: Cause| -> Vec<&ViolationCount> {
        // Where there is no stdout, noise is one more kind of breach.
        let cause_of = |count: &ViolationCount| match count.cause {
            Cause::Noise if !context.is_over_stdout => Cause::Harmless,
            cause => cause,
        };
        counts.iter().filter(|it| cause_of(it) == cause).collect()
    };
    let (garbled, noise) = (of(Cause::Garbled), of(Cause::Noise));
    let (harmless, breaches) = (of(Cause::Harmless), of(Cause::Breach));
    let mut verdicts = Vec::new();
    if let Some(first) = garbled.first() {
        verdicts.push(garbled_reply(first, total(&garbled), total(&noise)));
    } else if let Some(first) = noise.first() {
        verdicts.push(stdout_noise(first, total(&noise)));
    }
    let is_harmless = breaches.is_empty() && context.unanswered == 0;
    let others: Vec<_> = breaches.into_iter().chain(harmless).collect();
    if !others.is_empty() {
        verdicts.push(protocol(&others, is_harmless, context.has_calls));
    }
    verdicts
}

fn total(counts: &[&ViolationCount]) -> u64 {
    counts.iter().map(|it| it.count).sum()
}

/// The verdict `garbled_reply`. Lines of noise have the same cause and need no verdict of their own.
fn garbled_reply(first: &ViolationCount, frames: u64, noise: u64) -> Verdict {
    Verdict::critical(
        "garbled_reply",
        format!(
            "{} had a reply and other output on it, which a client cannot read. For example: {}",
            counted(frames, "line"),
            phrase::text(&first.example)
        ),
        "write logs to stderr, and each message with its line break in one write, under a lock if several threads write",
    )
    .number("frames", frames)
    .number("noise", noise)
}

/// The verdict `stdout_noise`.
fn stdout_noise(first: &ViolationCount, lines: u64) -> Verdict {
    Verdict::warning(
        "stdout_noise",
        format!(
            "The server wrote {} to stdout that {} no message; every message was read all the same. For example: {}",
            counted(lines, "line"),
            if lines == 1 { "is" } else { "are" },
            phrase::text(&first.example)
        ),
        "write logs to stderr: stdout carries messages only, and some clients give up at anything else",
    )
    .number("lines", lines)
}

/// The verdict `protocol`.
fn protocol(counts: &[&ViolationCount], is_harmless: bool, has_calls: bool) -> Verdict {
    let list: Vec<String> = counts
        .iter()
        .map(|it| format!("{} × {} (such as: {})", it.count, it.kind, it.example))
        .collect();
    let list = list.join("; ");
    let severity = if is_harmless {
        Severity::Warning
    } else {
        Severity::Critical
    };
    let but = if is_harmless && has_calls {
        " Every call was answered all the same."
    } else {
        ""
    };
    Verdict::finding(
        ID,
        severity,
        format!("The server broke the protocol: {list}.{but}"),
        sentence!(
            "{} with the same server shows more; keep logs on stderr",
            command_or("probe", "mcprove::probe")
        ),
    )
    .number("violations", total(counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(kind: &str, cause: Cause, count: u64) -> ViolationCount {
        ViolationCount {
            kind: kind.to_owned(),
            cause,
            count,
            example: format!("an example of {kind}"),
        }
    }

    fn found(
        counts: &[ViolationCount],
        unanswered: u64,
        is_over_stdout: bool,
    ) -> Vec<(String, Severity)> {
        let context = ViolationContext {
            unanswered,
            has_calls: true,
            is_over_stdout,
        };
        let verdicts = verdicts(counts, context).into_iter();
        verdicts.map(|it| (it.detector, it.severity)).collect()
    }

    #[test]
    fn each_cause_has_one_verdict() {
        let noise = seen("noise", Cause::Noise, 3);
        let garbled = seen("garbled_reply", Cause::Garbled, 1);
        let unnamed = seen("reply_without_id", Cause::Harmless, 2);
        let breach = seen("duplicate_reply", Cause::Breach, 1);
        let warning = |detector: &str| (detector.to_owned(), Severity::Warning);
        let critical = |detector: &str| (detector.to_owned(), Severity::Critical);
        let cases = [
            (vec![], 0, true, vec![]),
            (vec![noise.clone()], 0, true, vec![warning("stdout_noise")]),
            // What hangs may hang for any reason: a line of noise is no evidence for more.
            (vec![noise.clone()], 4, true, vec![warning("stdout_noise")]),
            (vec![noise.clone()], 0, false, vec![warning("protocol")]),
            (
                vec![noise.clone(), garbled],
                0,
                true,
                vec![critical("garbled_reply")],
            ),
            (vec![unnamed.clone()], 0, true, vec![warning("protocol")]),
            (vec![unnamed.clone()], 1, true, vec![critical("protocol")]),
            (
                vec![breach, unnamed, noise],
                0,
                true,
                vec![warning("stdout_noise"), critical("protocol")],
            ),
        ];
        for (counts, unanswered, is_over_stdout, expected) in cases {
            let found = found(&counts, unanswered, is_over_stdout);
            assert_eq!(found, expected, "{counts:?} {unanswered} {is_over_stdout}");
        }
    }

    #[test]
    fn that_all_was_answered_is_said_where_it_is_known() {
        let counts = [seen("reply_without_id", Cause::Harmless, 1)];
        for has_calls in [true, false] {
            let context = ViolationContext {
                unanswered: 0,
                has_calls,
                is_over_stdout: true,
            };
            let verdict = verdicts(&counts, context).remove(0);
            let said = verdict.sentence.rendered();
            assert_eq!(
                said.contains("Every call was answered"),
                has_calls,
                "{said}"
            );
        }
    }

    #[test]
    fn what_was_seen_is_quoted_and_counted() {
        let counts = [
            seen("duplicate_reply", Cause::Breach, 2),
            seen("reply_without_id", Cause::Harmless, 1),
        ];
        let context = ViolationContext {
            unanswered: 0,
            has_calls: true,
            is_over_stdout: true,
        };
        let verdict = verdicts(&counts, context).remove(0);
        assert_eq!(verdict.numbers["violations"], 3);
        assert_eq!(
            verdict.sentence,
            "The server broke the protocol: 2 × duplicate_reply (such as: an example of duplicate_reply); 1 × reply_without_id (such as: an example of reply_without_id)."
        );
    }
}
