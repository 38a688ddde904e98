//! The longest streak, the best cycle and the longest stagnation, each in one pass over the calls.

use super::CYCLE_CALLS_MAX;
use crate::trace::{Json, ToolResult};

/// So many calls in a row, from one on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Streak {
    pub(super) first: usize,
    pub(super) calls: usize,
}

/// A cycle of so many calls, gone through so often, from a call on; of none, where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cycle {
    pub(super) first: usize,
    pub(super) length: usize,
    pub(super) repeats: usize,
}

/// The longest streak of the same call; the first of several.
pub(super) fn longest_streak(same: &[usize]) -> Streak {
    let mut longest = Streak::default();
    let mut current = Streak::default();
    let mut before = None;
    for (index, call) in same.iter().enumerate() {
        if before != Some(call) {
            current = Streak {
                first: index,
                calls: 0,
            };
        }
        current.calls += 1;
        before = Some(call);
        if current.calls > longest.calls {
            longest = current;
        }
    }
    longest
}

/// The cycle that is gone through most often; of several the shortest, then the first.
pub(super) fn best_cycle(same: &[usize], is_doubtful: &[bool]) -> Option<Cycle> {
    let mut best: Option<Cycle> = None;
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
            let repeats = (again + length) / length;
            // Where nothing changes it is a repeated call, not a cycle, unless nobody can tell.
            let may_change = changed > first || is_doubtful.get(index) == Some(&true);
            let is_cycle = repeats > 1 && may_change;
            if is_cycle && best.is_none_or(|best| repeats > best.repeats) {
                best = Some(Cycle {
                    first,
                    length,
                    repeats,
                });
            }
        }
    }
    best
}

/// What the calls that are the same as one have brought so far.
#[derive(Clone, Default)]
struct Brought<'a> {
    /// The last result that was no error.
    result: Option<&'a Json>,
    /// Whether one is unknown.
    is_unknown: bool,
}

/// The longest stretch of calls that brought nothing new; the first of several.
pub(super) fn longest_stagnation(
    same: &[usize],
    results: &[Option<&ToolResult>],
    is_doubtful: &[bool],
) -> Streak {
    let mut brought: Vec<Brought<'_>> = vec![Brought::default(); same.len()];
    let mut longest = Streak::default();
    let mut current = Streak::default();
    for (index, &first) in same.iter().enumerate() {
        let result = results.get(index).copied().flatten();
        let Some(before) = brought.get_mut(first) else {
            continue;
        };
        // What it repeats, and so what it brings, is not known of a blurred one.
        let may_repeat = is_doubtful.get(index) == Some(&true);
        let brings = brings(result, before);
        let is_new = first == index || (brings && !may_repeat);
        if is_new {
            current = Streak {
                first: index + 1,
                calls: 0,
            };
            continue;
        }
        current.calls += 1;
        if current.calls > longest.calls {
            longest = current;
        }
    }
    longest
}

/// Whether a result is something new, beside what the same call brought before; takes it down.
fn brings<'a>(result: Option<&'a ToolResult>, before: &mut Brought<'a>) -> bool {
    let known = result.filter(|known| known.is_error.is_some() || !known.result.is_null());
    let Some(known) = known else {
        before.is_unknown = true;
        return false;
    };
    if known.is_error == Some(true) {
        return false;
    }
    match before.result.replace(&known.result) {
        Some(last) => *last != known.result,
        // After errors alone the first result is new; after unknown ones it may not be.
        None => !before.is_unknown,
    }
}
