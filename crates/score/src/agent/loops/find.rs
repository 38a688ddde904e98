//! Finding repeats, cycles and stagnation in the calls of one run.

use super::{CYCLE_CALLS_MAX, CallRange, LoopsBlock, LoopsReport};
use crate::prelude::*;

/// Names that a stretch lists.
const NAMES_KEPT: usize = 20;

/// Finds out how far the calls of a run go in circles.
///
/// ```
/// use mcprove_score::agent::loops::{LoopsBlock, find_loops};
/// use mcprove_trace::{AgentRun, ToolCall};
///
/// let calls = ["a", "b"].repeat(4).into_iter().map(|name| ToolCall {
///     name: name.into(),
///     ..ToolCall::default()
/// });
/// let run = AgentRun { tool_calls: calls.collect(), ..AgentRun::default() };
/// let report = find_loops(&run, &LoopsBlock::default());
/// assert_eq!((report.max_cycle_repeats, report.cycle_length), (Some(4), Some(2)));
/// assert_eq!(report.detected, Some(true), "four times, and three are allowed");
/// ```
pub fn find_loops(run: &AgentRun, block: &LoopsBlock) -> LoopsReport {
    let calls = &run.tool_calls;
    let results = run.results();
    let identities: Vec<Identity<'_>> = calls.iter().map(Identity::of).collect();
    let same = first_equal(&identities);
    let blurred = blur(calls, &same);
    let is_hidden: Vec<bool> = calls.iter().map(|call| call.args.is_null()).collect();
    let none = vec![false; calls.len()];
    let apart = Doubts::Apart {
        tools: blurred.as_ref().map_or(&same, |blurred| &blurred.same),
        is_hidden: &is_hidden,
    };
    let signs = |same: &[usize], is_doubtful: &[bool], doubts| Signs {
        repeats: longest_streak(same),
        cycle: best_cycle(same, is_doubtful),
        stagnant: longest_stagnation(same, &results, doubts),
    };
    let certain = signs(&same, &none, apart);
    let possible = blurred.as_ref().map_or(certain, |blurred| {
        let is_doubtful = blurred.is_doubtful.as_slice();
        signs(&blurred.same, is_doubtful, Doubts::Together(is_doubtful))
    });
    let mut others = possible.counts().into_iter();
    let known = certain.counts().map(|certain| {
        let is_known = others.next() == Some(certain);
        is_known.then(|| count(certain))
    });
    let [max_repeats, max_cycle_repeats, cycle_length, stagnation] = known;
    let detected = if certain.exceed(block) {
        Some(true)
    } else {
        (!possible.exceed(block)).then_some(false)
    };
    let Signs {
        repeats,
        cycle,
        stagnant,
    } = certain;
    let names = |sign: Sign, told: usize| {
        calls
            .iter()
            .skip(sign.first)
            .take(told)
            .map(|call| call.name.clone())
    };
    let range = |sign: Sign, names: Vec<String>| CallRange {
        first: sign.first,
        last: sign.first + (sign.length * sign.times).saturating_sub(1),
        times: count(sign.times),
        names,
    };
    let mut known_names = BTreeSet::new();
    LoopsReport {
        detected,
        max_repeats,
        max_cycle_repeats,
        cycle_length,
        stagnation,
        first_unknown: blurred
            .filter(|_| known.contains(&None))
            .map(|blurred| blurred.first_unknown),
        repeats: (repeats.times > 1).then(|| range(repeats, names(repeats, 1).collect())),
        cycle: (cycle.times > 0).then(|| range(cycle, names(cycle, cycle.length).collect())),
        stagnant: (stagnant.times > 0).then(|| {
            let each = names(stagnant, stagnant.times);
            range(
                stagnant,
                each.filter(|name| known_names.insert(name.clone()))
                    .take(NAMES_KEPT)
                    .collect(),
            )
        }),
    }
}

/// Calls taken for the same where nobody can tell.
struct Blurred {
    same: Vec<usize>,
    /// For each call whether its tool has a call with unknown arguments.
    is_doubtful: Vec<bool>,
    first_unknown: usize,
}

/// Takes all calls of a tool for the same where the arguments of one are unknown; `None` where all are
/// known, or no tool with an unknown one is called twice.
fn blur(calls: &[ToolCall], same: &[usize]) -> Option<Blurred> {
    // For each such tool its first call, how often it is called, and the first unknown one.
    let mut tools: BTreeMap<Tool<'_>, (usize, usize, usize)> = BTreeMap::new();
    for (place, call) in calls.iter().enumerate() {
        if call.args.is_null() {
            tools.entry(tool_of(call)).or_insert((usize::MAX, 0, place));
        }
    }
    if tools.is_empty() {
        return None;
    }
    let mut blurred = Blurred {
        same: same.to_vec(),
        is_doubtful: vec![false; calls.len()],
        first_unknown: usize::MAX,
    };
    let marks = blurred.same.iter_mut().zip(&mut blurred.is_doubtful);
    for ((place, call), (same, is_doubtful)) in calls.iter().enumerate().zip(marks) {
        if let Some((first, times, unknown)) = tools.get_mut(&tool_of(call)) {
            *first = (*first).min(place);
            *times += 1;
            *same = *first;
            *is_doubtful = true;
            if *times > 1 {
                blurred.first_unknown = blurred.first_unknown.min(*unknown);
            }
        }
    }
    (blurred.first_unknown < usize::MAX).then_some(blurred)
}

/// The three signs of a loop.
#[derive(Clone, Copy)]
struct Signs {
    repeats: Sign,
    cycle: Sign,
    stagnant: Sign,
}

impl Signs {
    fn counts(&self) -> [usize; 4] {
        let cycle = self.cycle;
        [
            self.repeats.times,
            cycle.times,
            cycle.length,
            self.stagnant.times,
        ]
    }

    fn exceed(&self, block: &LoopsBlock) -> bool {
        count(self.repeats.times) > block.max_repeats
            || count(self.cycle.times) > block.max_cycle_repeats
            || count(self.stagnant.times) > block.max_stagnation
    }
}

// The longest streak, the best cycle and the longest stagnation, each in one pass over the calls.

/// So many calls from one on, so many times in a row; none, where there is no such thing.
#[derive(Clone, Copy, Default)]
struct Sign {
    pub first: usize,
    pub length: usize,
    pub times: usize,
}

/// The longest streak of the same call; the first of several.
fn longest_streak(same: &[usize]) -> Sign {
    let (mut first, mut longest) = (0, Sign::default());
    for streak in same.chunk_by(usize::eq) {
        let times = streak.len();
        if times > longest.times {
            longest = Sign {
                first,
                length: 1,
                times,
            };
        }
        first += times;
    }
    longest
}

/// The cycle that is gone through most often; of several the shortest, then the first.
fn best_cycle(same: &[usize], is_doubtful: &[bool]) -> Sign {
    let mut best = Sign::default();
    for length in 2..=CYCLE_CALLS_MAX {
        // Calls in a row that are the same as the one a cycle before.
        let mut again = 0;
        // The last call that is not the same as the one just before.
        let mut changed = 0;
        for (index, call) in same.iter().enumerate() {
            if index > 0 && same[index - 1] != *call {
                changed = index;
            }
            let is_again = index >= length && same[index - length] == *call;
            if !is_again {
                again = 0;
                continue;
            }
            again += 1;
            let first = index + 1 - again - length;
            let times = (again + length) / length;
            // Where nothing changes it is a repeated call, not a cycle, unless nobody can tell.
            let may_change = changed > first || is_doubtful[index];
            if times > best.times.max(1) && may_change {
                best = Sign {
                    first,
                    length,
                    times,
                };
            }
        }
    }
    best
}

/// What the calls that are the same as one have brought so far.
#[derive(Clone, Default)]
struct Brought<'a> {
    /// The last result that was no error, and its call.
    result: Option<(usize, &'a Json)>,
    is_unknown: bool,
}

/// What the calls of a tool whose arguments are unknown have brought so far.
#[derive(Clone, Default)]
struct Hidden<'a> {
    last: Option<(usize, &'a Json)>,
    /// The last call that brought something else than the last one.
    other: Option<usize>,
}

impl<'a> Hidden<'a> {
    fn add(&mut self, index: usize, result: &'a Json) {
        if let Some((last, before)) = self.last.replace((index, result))
            && before != result
        {
            self.other = Some(last);
        }
    }

    /// Whether one after this call brought something else than this.
    fn differs(&self, after: Option<usize>, result: &Json) -> bool {
        let other = match self.last {
            Some((last, before)) if before != result => Some(last),
            _ => self.other,
        };
        // `None` is before all calls.
        other > after
    }
}

/// Calls of which it is not known which others they repeat.
#[derive(Clone, Copy)]
enum Doubts<'a> {
    /// They repeat no other: for each call the first of its tool, and whether its arguments are unknown.
    Apart {
        tools: &'a [usize],
        is_hidden: &'a [bool],
    },
    /// They repeat all that they may: for each call whether it is one, or may be repeated by one.
    Together(&'a [bool]),
}

/// The longest stretch of calls that brought nothing new; the first of several.
fn longest_stagnation(same: &[usize], results: &[Option<&ToolResult>], doubts: Doubts<'_>) -> Sign {
    let mut brought: Vec<Brought<'_>> = vec![Brought::default(); same.len()];
    let mut hidden: Vec<Hidden<'_>> = vec![Hidden::default(); same.len()];
    let mut longest = Sign::default();
    let mut times = 0;
    for (index, (&first, &result)) in same.iter().zip(results).enumerate() {
        let before = &mut brought[first];
        let last = before.result.map(|(place, _)| place);
        let brings = brings((index, result), before);
        let success = result.and_then(success);
        let is_new = match doubts {
            // What it repeats, and so what it brings, is not known of a blurred one.
            Doubts::Together(is_doubtful) => brings && !is_doubtful[index],
            // What a hidden call in between got is the last result, if it was the same call.
            Doubts::Apart { tools, is_hidden } => {
                let hidden = &mut hidden[tools[index]];
                let differs = success.is_some_and(|result| hidden.differs(last, result));
                if let Some(result) = success.filter(|_| is_hidden[index]) {
                    hidden.add(index, result);
                }
                brings || differs
            }
        };
        if first == index || is_new {
            times = 0;
            continue;
        }
        times += 1;
        if times > longest.times {
            longest = Sign {
                first: index + 1 - times,
                length: 1,
                times,
            };
        }
    }
    longest
}

/// Whether a result is something new, beside what the same call brought before; takes it down.
fn brings<'a>((index, result): (usize, Option<&'a ToolResult>), before: &mut Brought<'a>) -> bool {
    let Some(known) = result.filter(|result| is_known(result)) else {
        before.is_unknown = true;
        return false;
    };
    let Some(success) = success(known) else {
        return false;
    };
    match before.result.replace((index, success)) {
        Some((_, last)) => last != success,
        // After errors alone the first result is new; after unknown ones it may not be.
        None => !before.is_unknown,
    }
}

fn is_known(result: &ToolResult) -> bool {
    result.is_error.is_some() || !result.result.is_null()
}

/// What a call got that is known and no error.
fn success(result: &ToolResult) -> Option<&Json> {
    let is_success = is_known(result) && result.is_error != Some(true);
    is_success.then_some(&result.result)
}
