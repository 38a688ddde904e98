//! Whether a tool answers the same when several callers ask at once.
//!
//! The same call is made alone a few times (the baseline), then many times at once, and where
//! replies differ alone once more. Replies are compared as [canonical](mcprove_trace::canonical) JSON. A baseline that
//! already differs within itself, or from the one afterwards, says nothing about concurrency: such a
//! reply changes with time. If neither does, a concurrent reply that differs from them is a race.
//! Make at least two calls alone: a single one cannot show that the tool varies by itself.

use crate::prelude::*;

/// Characters of an example reply.
pub const EXAMPLE_CHARS_MAX: usize = 200;

/// Characters of an example that come before the first difference.
const CONTEXT_CHARS: usize = 40;

/// What the replies say.
#[choice(Copy, Eq, Hash)]
pub enum RaceOutcome {
    /// Every concurrent reply equals the baseline.
    Consistent,
    /// One does not.
    Divergent,
    /// There is nothing to compare with.
    Inconclusive,
}

/// Replies alone against replies at once.
#[data(Eq)]
pub struct RaceReport {
    /// What the replies say.
    pub outcome: RaceOutcome,
    /// Calls answered alone.
    pub baseline_calls: usize,
    /// Different replies among them.
    pub baseline_distinct: usize,
    /// Calls answered at once.
    pub concurrent_calls: usize,
    /// Different replies among them.
    pub concurrent_distinct: usize,
    /// Concurrent calls that failed, and so were not compared.
    pub failures: usize,
    /// Two replies that differ, cut to where they do: of the baseline, and of the concurrent calls
    /// (or of the baseline too, when that already differs).
    pub example: Option<(String, String)>,
}

/// Compares canonical replies of calls made alone before, at once, and alone after.
pub fn compare(
    before: &[String],
    concurrent: &[String],
    after: &[String],
    failures: usize,
) -> RaceReport {
    let baseline = || before.iter().chain(after);
    let alone: BTreeSet<&String> = baseline().collect();
    let at_once: BTreeSet<&String> = concurrent.iter().collect();
    let expected = before.first();
    let differing = expected.and_then(|expected| {
        baseline()
            .find(|reply| *reply != expected)
            .or_else(|| concurrent.iter().find(|reply| *reply != expected))
    });
    let is_unconfirmed = differing.is_some() && after.is_empty();
    let outcome = if alone.len() != 1 || at_once.is_empty() || is_unconfirmed {
        RaceOutcome::Inconclusive
    } else if differing.is_some() {
        RaceOutcome::Divergent
    } else {
        RaceOutcome::Consistent
    };
    RaceReport {
        outcome,
        baseline_calls: before.len() + after.len(),
        baseline_distinct: alone.len(),
        concurrent_calls: concurrent.len(),
        concurrent_distinct: at_once.len(),
        failures,
        example: expected
            .zip(differing)
            .map(|(expected, reply)| example(expected, reply)),
    }
}

/// Both replies from shortly before their first difference.
fn example(one: &str, other: &str) -> (String, String) {
    let start = common_chars(one, other).saturating_sub(CONTEXT_CHARS);
    (shorten(one, start), shorten(other, start))
}

/// At most [`EXAMPLE_CHARS_MAX`] characters from `start` on, with an ellipsis where text is left out.
fn shorten(text: &str, start: usize) -> String {
    let rest = text.chars().skip(start);
    let before = (start > 0).then_some('…');
    let room = EXAMPLE_CHARS_MAX - usize::from(start > 0);
    let is_cut = rest.clone().count() > room;
    let rest = rest.take(room - usize::from(is_cut));
    let after = is_cut.then_some('…');
    before.into_iter().chain(rest).chain(after).collect()
}

/// The verdict `race`; a divergence is critical.
pub fn verdict(report: &RaceReport) -> Verdict {
    let calls = counted(count(report.concurrent_calls), "concurrent call");
    let failed = match report.failures {
        0 => String::new(),
        failures => format!(" ({failures} more failed and were not compared)"),
    };
    let verdict = match report.outcome {
        RaceOutcome::Consistent => Verdict::pass(
            "race",
            format!("{calls} got the same reply as a call made alone{failed}."),
        ),
        RaceOutcome::Divergent => Verdict::critical(
            "race",
            format!(
                "The same call gets a different reply when made concurrently than alone: {calls} got {} of reply, calls made alone, before and after, 1{failed}.",
                counted(count(report.concurrent_distinct), "kind")
            ),
            "look for state shared between calls without a lock: globals, caches, a reused buffer or connection",
        ),
        RaceOutcome::Inconclusive if report.baseline_distinct > 1 => Verdict::inconclusive(
            "race",
            "The tool's reply differs already when it is called alone, so it cannot show a race.",
            "pick a tool whose reply depends on its arguments only, without times, ids or random values",
        ),
        RaceOutcome::Inconclusive if report.baseline_calls == 0 => Verdict::inconclusive(
            "race",
            "No call made alone succeeded, so there is nothing to compare with.",
            sentence!(
                "give arguments that the tool accepts ({}), or pick another tool",
                setting("args")
            ),
        ),
        RaceOutcome::Inconclusive if report.concurrent_calls > 0 => Verdict::inconclusive(
            "race",
            format!(
                "{calls} got a different reply than calls made alone before, but none made alone after was answered, so the tool may change by itself{failed}."
            ),
            "run again, and let it end; look at why the tool stops answering",
        ),
        RaceOutcome::Inconclusive => Verdict::inconclusive(
            "race",
            format!("No concurrent call succeeded, so there is nothing to compare{failed}."),
            "look at why the calls fail concurrently; alone they succeed",
        ),
    };
    let names = [
        "baseline_calls",
        "baseline_distinct",
        "concurrent_calls",
        "concurrent_distinct",
        "failures",
    ];
    verdict.numbers_of(report, &names)
}

/// How many characters two texts begin with in common.
pub fn common_chars(one: &str, other: &str) -> usize {
    one.chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .count()
}

#[cfg(test)]
mod tests;
