//! What was wrong with what the server wrote: violations, and calls whose end no healthy server brings about. The same
//! frame is reported once, and is no evidence for anything else.

use mcprove_client::session::ViolationKind;
use mcprove_score::verdict::Outcome;
use mcprove_score::violations::{self, Cause, ViolationContext, ViolationCount};
use mcprove_score::{deadlock, isolation};

use super::detect::times;
use crate::prelude::*;

/// The detectors that take a call without an answer for a reply that was never sent.
const NEED_SILENCE: [&str; 2] = [deadlock::ID, isolation::ID];

impl RunFacts<'_> {
    /// What the server wrote that the protocol does not allow.
    pub fn detect_violations(&self, report: &mut Report) -> FactResult {
        let counts = violation_counts(&self.all::<ViolationFact>()?);
        let transport = report.server_info.transport.as_str();
        let is_over_stdout = matches!(transport, "stdio" | "memory");
        let unanswered = count_without_reply(report);
        // Over HTTP it is known which call a body was to answer; elsewhere a reply that names no call leaves its call
        // without one.
        let unattributed = counts.iter().filter(|it| may_be_reply(&it.kind));
        let unattributed: u64 = unattributed.map(|it| it.count).sum();
        let (known, unknown) = match transport {
            "http" => (
                unattributed.min(of_category(report, ErrorCategory::Malformed)),
                0,
            ),
            _ => (0, unattributed),
        };
        if unanswered > 0 && unanswered <= unknown {
            doubt_silence(report, unanswered, unknown);
        }
        let context = ViolationContext {
            unanswered: unanswered + known,
            // What a fuzzer sends is no call, and what has no answer there is told by `fuzz`.
            has_calls: self.total.sent > 0 && !self.judging().sends_bad_input,
            is_over_stdout,
        };
        let found = violations::verdicts(&counts, context);
        if !found
            .iter()
            .any(|verdict| verdict.detector == violations::ID)
        {
            report.verdicts.push(self.nothing_else(&found));
        }
        report.verdicts.extend(found);
        report
            .verdicts
            .extend(broken_calls(report, known, self.closed_while_kept()?));
        Ok(())
    }

    /// Calls that count and were lost with a connection that the server had kept open, and may have closed before.
    fn closed_while_kept(&self) -> FactResult<u64> {
        let facts: Vec<KeptConnectionFact> = self.all()?;
        let measured = facts.iter().filter(|fact| self.is_measured(fact.phase));
        Ok(number::count(measured.count()))
    }

    /// What can be said where nothing broke the protocol, or only noise did.
    fn nothing_else(&self, found: &[Verdict]) -> Verdict {
        let was_answered = self.total.succeeded() > 0;
        let verdict = if self.was_killed {
            Verdict::inconclusive(
                violations::ID,
                "The run was killed before it noted whether the server kept to the protocol.",
                "let the run end, or interrupt it once (Ctrl-C) and wait",
            )
        } else if self.ending.interrupted && !was_answered {
            Verdict::inconclusive(
                violations::ID,
                "No call was answered before the run was interrupted, so little of the protocol could show.",
                "give the run more time",
            )
        } else if found.is_empty() {
            Verdict::pass(violations::ID, "The server kept to the protocol.")
        } else {
            let sentence = "The messages themselves kept to the protocol.";
            Verdict::pass(violations::ID, sentence)
        };
        verdict.number("violations", 0)
    }
}

/// How often each kind was seen, with the first of them.
fn violation_counts(facts: &[ViolationFact]) -> Vec<ViolationCount> {
    let mut counts = BTreeMap::<&str, ViolationCount>::new();
    for fact in facts {
        let count = counts.entry(&fact.kind).or_insert_with(|| ViolationCount {
            kind: fact.kind.clone(),
            cause: cause_of(&fact.kind),
            count: 0,
            example: fact.example.clone(),
        });
        count.count += fact.count;
    }
    counts.into_values().collect()
}

/// The kind of that name; none for one of a later version.
fn kind_of(name: &str) -> Option<ViolationKind> {
    serde_json::from_value(json!(name)).ok()
}

fn cause_of(name: &str) -> Cause {
    match kind_of(name) {
        Some(ViolationKind::GarbledReply) => Cause::Garbled,
        Some(ViolationKind::Noise) => Cause::Noise,
        Some(kind) if kind.is_harmless() => Cause::Harmless,
        _ => Cause::Breach,
    }
}

fn may_be_reply(name: &str) -> bool {
    kind_of(name).is_some_and(ViolationKind::may_be_reply)
}

/// Calls for which no reply was found.
fn count_without_reply(report: &Report) -> u64 {
    let ended = [ErrorCategory::Deadlock, ErrorCategory::Timeout]
        .into_iter()
        .map(|category| of_category(report, category));
    ended.sum::<u64>() + report.unanswered
}

/// The calls that count and ended in this category.
pub fn of_category(report: &Report, category: ErrorCategory) -> u64 {
    let categories = report.failed_calls();
    categories.get(&category).copied().unwrap_or_default()
}

/// Each call that seems to have no answer may have one that names no call, so that nothing shows that one is missing.
fn doubt_silence(report: &mut Report, unanswered: u64, unattributed: u64) {
    let is_doubtful = |verdict: &&mut Verdict| {
        NEED_SILENCE.contains(&verdict.detector.as_str()) && verdict.is_failure()
    };
    let has_crossed = report.isolation.crossed > 0;
    for verdict in report.verdicts.iter_mut().filter(is_doubtful) {
        if verdict.detector == isolation::ID && has_crossed {
            continue;
        }
        let sentence = format!(
            "{} had no answer, but the server also wrote {} no call and may be {}.",
            phrase::count(unanswered, "call"),
            match unattributed {
                1 => "1 message that matches".to_owned(),
                count => format!("{} that match", phrase::count(count, "message")),
            },
            if unanswered == 1 {
                "the missing answer"
            } else {
                "the missing answers"
            },
        );
        verdict.outcome = Outcome::Inconclusive;
        verdict.severity = Severity::Info;
        verdict.sentence = sentence.into();
        verdict.hint = Some(sentence!("correct what `protocol` reports, and run again"));
    }
}

/// Calls that ended in a way that no healthy server lets them end, whatever the limits. Of those with a broken answer
/// `reported` are told as violations, and of those that lost their connection `kept` were sent on one that a healthy
/// server may close.
fn broken_calls(report: &Report, reported: u64, kept: u64) -> Vec<Verdict> {
    let crashes = u64::from(report.crash_count);
    let kept = kept.min(of_category(report, ErrorCategory::Disconnected));
    let broken = [
        (ErrorCategory::Crash, "crash", "", ""),
        (
            ErrorCategory::Malformed,
            "malformed",
            "was answered with something that is not a valid answer",
            "were answered with something that is not a valid answer",
        ),
        (
            ErrorCategory::Disconnected,
            "disconnected",
            "lost its connection before the answer",
            "lost their connection before the answer",
        ),
    ]
    .into_iter()
    .filter_map(|(category, detector, what_one, what)| {
        let told = match category {
            ErrorCategory::Malformed => reported,
            ErrorCategory::Disconnected => kept,
            _ => 0,
        };
        let failed = of_category(report, category).saturating_sub(told);
        let calls = phrase::count(failed, "call");
        let what = if failed == 1 { what_one } else { what };
        let is_crash = category == ErrorCategory::Crash;
        let (sentence, number, count) = if is_crash {
            let times = times(crashes);
            let sentence = format!("The server process crashed {times} and took {calls} with it.");
            (sentence, "crashes", crashes)
        } else {
            (format!("{calls} {what}."), "calls", failed)
        };
        let verdict = Verdict::critical(detector, sentence, category.hint());
        let is_found = failed > 0 || is_crash && crashes > 0;
        is_found.then(|| verdict.number(number, count))
    });
    broken.chain(lost_with_kept_connection(kept)).collect()
}

/// Calls that were sent on a connection that the server closed when it had been used before: it may have done so just
/// before they arrived, which any server of HTTP may do.
fn lost_with_kept_connection(calls: u64) -> Option<Verdict> {
    let verdict = Verdict::warning(
        "disconnected",
        format!(
            "{} got no answer: the server closed the connection, which had carried answers before, perhaps just before the call arrived.",
            phrase::count(calls, "call")
        ),
        "keep idle connections open for longer than clients do, and announce the last answer on one with `Connection: close`",
    );
    (calls > 0).then(|| verdict.number("calls", calls))
}
