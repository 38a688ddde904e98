//! The longest streak, the best cycle and the longest stagnation, each in one pass over the calls.

use super::CYCLE_CALLS_MAX;
use crate::prelude::*;

/// So many calls from one on, so many times in a row; none, where there is no such thing.
#[derive(Clone, Copy, Default)]
pub struct Sign {
    pub first: usize,
    pub length: usize,
    pub times: usize,
}

/// The longest streak of the same call; the first of several.
pub fn longest_streak(same: &[usize]) -> Sign {
    let (mut first, mut longest) = (0, Sign::default());
    for streak in same.chunk_by(usize::eq) {
        let times = streak.len();
        if times > longest.times {
            let length = 1;
            longest = Sign {
                first,
                length,
                times,
            };
        }
        first += times;
    }
    longest
}

/// The cycle that is gone through most often; of several the shortest, then the first.
pub fn best_cycle(same: &[usize], is_doubtful: &[bool]) -> Sign {
    let mut best = Sign::default();
    for length in 2..=CYCLE_CALLS_MAX {
        // Calls in a row that are the same as the one a cycle before.
        let mut again = 0;
        // The last call that is not the same as the one just before.
        let mut changed = 0;
        for (index, call) in same.iter().enumerate() {
            if index > 0 && same.get(index - 1) != Some(call) {
                changed = index;
            }
            let is_again = index >= length && same.get(index - length) == Some(call);
            if !is_again {
                again = 0;
                continue;
            }
            again += 1;
            let first = index + 1 - again - length;
            let times = (again + length) / length;
            // Where nothing changes it is a repeated call, not a cycle, unless nobody can tell.
            let may_change = changed > first || is_doubtful.get(index) == Some(&true);
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
    /// Whether one is unknown.
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
pub enum Doubts<'a> {
    /// They repeat no other: for each call the first of its tool, and whether its arguments are unknown.
    Apart {
        tools: &'a [usize],
        is_hidden: &'a [bool],
    },
    /// They repeat all that they may: for each call whether it is one, or may be repeated by one.
    Together(&'a [bool]),
}

/// The longest stretch of calls that brought nothing new; the first of several.
pub fn longest_stagnation(
    same: &[usize],
    results: &[Option<&ToolResult>],
    doubts: Doubts<'_>,
) -> Sign {
    let mut brought: Vec<Brought<'_>> = vec![Brought::default(); same.len()];
    let mut hidden: Vec<Hidden<'_>> = vec![Hidden::default(); same.len()];
    let mut longest = Sign::default();
    let mut current = Sign::default();
    for (index, &first) in same.iter().enumerate() {
        let result = results.get(index).copied().flatten();
        let Some(before) = brought.get_mut(first) else {
            continue;
        };
        let last = before.result.map(|(place, _)| place);
        let brings = brings((index, result), before);
        let is_new = first == index
            || match doubts {
                // What it repeats, and so what it brings, is not known of a blurred one.
                Doubts::Together(is_doubtful) => brings && is_doubtful.get(index) != Some(&true),
                // What a hidden call in between got is the last result, if it was the same call.
                Doubts::Apart { tools, .. } => {
                    let hidden = tools.get(index).and_then(|tool| hidden.get(*tool));
                    let result = result.and_then(success);
                    brings
                        || hidden
                            .zip(result)
                            .is_some_and(|(it, result)| it.differs(last, result))
                }
            };
        if let Doubts::Apart { tools, is_hidden } = doubts
            && is_hidden.get(index) == Some(&true)
            && let Some(hidden) = tools.get(index).and_then(|tool| hidden.get_mut(*tool))
            && let Some(result) = result.and_then(success)
        {
            hidden.add(index, result);
        }
        if is_new {
            current.times = 0;
            continue;
        }
        current.times += 1;
        if current.times > longest.times {
            let (first, length) = (index + 1 - current.times, 1);
            longest = Sign {
                first,
                length,
                ..current
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
