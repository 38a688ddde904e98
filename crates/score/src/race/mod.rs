//! Whether a tool answers the same when several callers ask at once.
//!
//! The same call is made alone a few times (the baseline), then many times at once, and where
//! replies differ alone once more. Replies are compared as [canonical](mcprove_trace::canonical) JSON. A baseline that
//! already differs within itself, or from the one afterwards, says nothing about concurrency: such a
//! reply changes with time. If neither does, a concurrent reply that differs from them is a race.
//! Make at least two calls alone: a single one cannot show that the tool varies by itself.
//!
//! Identical calls do not show which caller a reply belongs to. So callers with arguments of their own call at once too,
//! and each reply is compared with what that caller gets alone. One that is what another caller gets alone is crossed.
//!
//! Figures in a reply (`took 0.2 s`, `7 active requests`) may depend on the load honestly. A reply that differs from that alone in
//! numbers only is a warning, unless these differ from caller to caller. So is a call that fails when made concurrently, where none
//! failed alone. Where all callers get the same alone, their calls show nothing that identical calls do not.

use crate::prelude::*;

pub const ID: &str = "race";

/// Characters of an example reply.
pub const EXAMPLE_CHARS_MAX: usize = 200;

const SHARED_STATE: &str = "look for state shared between calls without a lock: globals, caches, a reused buffer or connection";

/// Characters of an example that come before the first difference.
const CONTEXT_CHARS: usize = 40;

/// What the replies say.
#[choice(Copy, Eq, Hash)]
pub enum RaceOutcome {
    /// Every concurrent reply equals the baseline.
    Consistent,
    /// Some do not, and differ from it in numbers only.
    Figures,
    /// One does not.
    Divergent,
    /// There is nothing to compare with.
    Inconclusive,
}

/// What one of several callers with arguments of their own got.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallerReplies {
    /// Alone before.
    pub before: String,
    /// At once with the others.
    pub at_once: Vec<String>,
    /// Alone after, if it was called once more.
    pub after: Option<String>,
}

/// Replies alone against replies at once.
#[sparse(marked)]
#[data(open, Eq)]
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
    /// Calls made alone that failed.
    #[sparse]
    pub failures_alone: u64,
    /// Two replies that differ, cut to where they do: of the baseline, and of the concurrent calls
    /// (or of the baseline too, when that already differs).
    pub example: Option<(String, String)>,
    /// Of the concurrent calls, those with arguments of their own for each caller.
    #[sparse]
    pub own_arguments: u64,
    /// Of these, calls that got what another caller gets alone.
    #[sparse]
    pub crossed: u64,
    /// Of these, calls that got what no caller gets alone.
    #[sparse]
    pub altered: u64,
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
        let words = Numbers::of(expected).words;
        let mut differing = baseline().chain(concurrent).filter(|it| *it != expected);
        let beyond = differing.clone().find(|it| Numbers::of(it).words != words);
        let is_beyond = beyond.is_some();
        Some((beyond.or(differing.next())?, is_beyond))
    });
    let is_unconfirmed = differing.is_some() && after.is_empty();
    let outcome = if alone.len() != 1 || at_once.is_empty() || is_unconfirmed {
        RaceOutcome::Inconclusive
    } else {
        match differing {
            Some((_, true)) => RaceOutcome::Divergent,
            Some(_) => RaceOutcome::Figures,
            None => RaceOutcome::Consistent,
        }
    };
    RaceReport {
        outcome,
        baseline_calls: before.len() + after.len(),
        baseline_distinct: alone.len(),
        concurrent_calls: concurrent.len(),
        concurrent_distinct: at_once.len(),
        failures,
        failures_alone: 0,
        example: expected
            .zip(differing)
            .map(|(expected, (reply, _))| example(expected, reply)),
        own_arguments: 0,
        crossed: 0,
        altered: 0,
    }
}

impl RaceReport {
    /// Adds what callers with arguments of their own got. A tool that answers one of them differently alone, before and
    /// after, changes by itself: then nothing is added. Nor is it where a reply differs, and no call was made after.
    pub fn add_callers(&mut self, callers: &[CallerReplies], failures: usize) {
        let is_varying = |caller: &CallerReplies| {
            let after = caller.after.as_ref();
            after.is_some_and(|after| *after != caller.before)
        };
        let is_unconfirmed = |caller: &CallerReplies| {
            caller.after.is_none() && caller.at_once.iter().any(|it| *it != caller.before)
        };
        if callers
            .iter()
            .any(|it| is_varying(it) || is_unconfirmed(it))
        {
            return;
        }
        let alone: BTreeSet<&String> = callers.iter().map(|caller| &caller.before).collect();
        let is_told_apart = alone.len() > 1;
        let numbers: Vec<Numbers<'_>> = alone.iter().map(|reply| Numbers::of(reply)).collect();
        for caller in callers {
            let own = Numbers::of(&caller.before);
            for reply in &caller.at_once {
                if *reply == caller.before {
                    self.own_arguments += u64::from(is_told_apart);
                    continue;
                }
                self.own_arguments += 1;
                if alone.contains(reply) {
                    // The clearest example there is.
                    if self.crossed == 0 {
                        self.example = Some(example(&caller.before, reply));
                    }
                    self.crossed += 1;
                } else if own.differs_in_figures(&Numbers::of(reply), &numbers) {
                    if self.outcome == RaceOutcome::Consistent {
                        self.outcome = RaceOutcome::Figures;
                    }
                    self.example
                        .get_or_insert_with(|| example(&caller.before, reply));
                } else {
                    self.altered += 1;
                    self.example
                        .get_or_insert_with(|| example(&caller.before, reply));
                }
            }
        }
        self.failures += failures;
        if self.crossed + self.altered > 0 {
            self.outcome = RaceOutcome::Divergent;
        }
    }
}

/// A reply taken apart.
struct Numbers<'a> {
    /// The reply without its numbers.
    words: String,
    numbers: Vec<&'a str>,
}

impl<'a> Numbers<'a> {
    fn of(reply: &'a str) -> Self {
        let (mut rest, mut words, mut numbers) = (reply, String::new(), Vec::new());
        while let Some(start) = rest.find(|it: char| it.is_ascii_digit()) {
            let (before, number) = rest.split_at(start);
            let is_other = |it: char| !it.is_ascii_digit() && it != '.';
            let end = number.find(is_other).unwrap_or(number.len());
            let (digits, after) = number.split_at(end);
            rest = after;
            words.push_str(before);
            words.push('#');
            numbers.push(digits);
        }
        words.push_str(rest);
        Self { words, numbers }
    }

    /// Whether a reply differs from this, which its caller gets alone, only in figures that are the same for all callers
    /// (`alone`): these do not come from arguments.
    fn differs_in_figures(&self, reply: &Numbers<'_>, alone: &[Numbers<'_>]) -> bool {
        let others = alone.iter().filter(|it| it.words == self.words);
        let is_common = |place: usize, own| others.clone().all(|it| it.numbers.get(place) == own);
        reply.words == self.words
            && reply.numbers.iter().enumerate().all(|(place, found)| {
                let own = self.numbers.get(place);
                own == Some(found) || is_common(place, own)
            })
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

/// The verdict `race`; a divergence is critical, one in figures a warning.
pub fn verdict(report: &RaceReport) -> Verdict {
    let calls = counted(count(report.concurrent_calls), "concurrent call");
    let failed = match report.failures {
        0 => String::new(),
        failures => format!(" ({failures} more failed and were not compared)"),
    };
    let verdict = match report.outcome {
        RaceOutcome::Consistent if report.failures > 0 && report.failures_alone == 0 => {
            fails_concurrently(report)
        }
        RaceOutcome::Consistent => {
            let own = match report.own_arguments {
                0 => "; only identical calls were compared".to_owned(),
                own => format!(
                    ", and {} with other arguments for each caller what that caller gets alone",
                    whole(own)
                ),
            };
            let same = "got the same reply as a call made alone";
            Verdict::pass(ID, format!("{calls} {same}{own}{failed}."))
        }
        RaceOutcome::Divergent if report.crossed > 0 => Verdict::critical(
            ID,
            format!(
                "Callers get each other's replies: of {} with other arguments for each caller, {} got what another caller gets alone, before and after{failed}.",
                counted(report.own_arguments, "concurrent call"),
                whole(report.crossed)
            ),
            "look for state shared between calls: a global request or result, a buffer that is reused, replies paired with calls by their order",
        ),
        RaceOutcome::Divergent if report.altered > 0 && report.concurrent_distinct <= 1 => {
            Verdict::critical(
                ID,
                format!(
                    "The same call gets a different reply when made concurrently with others than alone: of {} with other arguments for each caller, {} got what no caller gets alone, before and after{failed}.",
                    counted(report.own_arguments, "concurrent call"),
                    whole(report.altered)
                ),
                SHARED_STATE,
            )
        }
        RaceOutcome::Figures => {
            let (one, other) = report.example.clone().unwrap_or_default();
            Verdict::warning(
                ID,
                sentence!(
                    "The same call gets other figures when made concurrently than alone, and figures may depend on the load: {} alone, {} concurrently{failed}.",
                    quoted(&one),
                    quoted(&other)
                ),
                "make sure that these figures are about the load (a time, a count of active requests), not about the answer",
            )
        }
        RaceOutcome::Divergent => Verdict::critical(
            ID,
            format!(
                "The same call gets a different reply when made concurrently than alone: {calls} got {} of reply, calls made alone, before and after, 1{failed}.",
                counted(count(report.concurrent_distinct), "kind")
            ),
            SHARED_STATE,
        ),
        RaceOutcome::Inconclusive if report.baseline_distinct > 1 => Verdict::inconclusive(
            ID,
            "The tool's reply already differs when it is called alone, so it cannot show a race.",
            "pick a tool with a reply that depends on its arguments only, without times, ids or random values",
        ),
        RaceOutcome::Inconclusive if report.baseline_calls == 0 => Verdict::inconclusive(
            ID,
            "No call made alone succeeded, so there is nothing to compare with.",
            sentence!(
                "give arguments that the tool accepts ({}), or pick another tool",
                setting("args")
            ),
        ),
        RaceOutcome::Inconclusive if report.concurrent_calls > 0 => Verdict::inconclusive(
            ID,
            format!(
                "{calls} got a different reply than calls made alone before, but none made alone after was answered, so the tool may change by itself{failed}."
            ),
            "run again, and let it end; look at why the tool stops answering",
        ),
        RaceOutcome::Inconclusive => Verdict::inconclusive(
            ID,
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
    let verdict = verdict.numbers_of(report, &names);
    if report.own_arguments == 0 {
        return verdict;
    }
    verdict.numbers_of(report, &["own_arguments", "crossed", "altered"])
}

/// Calls that fail only when made concurrently.
fn fails_concurrently(report: &RaceReport) -> Verdict {
    let failures = count(report.failures);
    let made = failures + count(report.concurrent_calls) + report.own_arguments;
    Verdict::warning(
        ID,
        format!(
            "Calls fail when made concurrently: {} of {}, and none of {} made alone; those that succeeded got the same reply as alone.",
            whole(failures),
            whole(made),
            whole(count(report.baseline_calls))
        ),
        "look for what calls take from each other: locks with a short timeout, a single connection, files that one call holds",
    )
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
