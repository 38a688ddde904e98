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

impl Sign {
    fn of(first: usize, length: usize, times: usize) -> Self {
        Self {
            first,
            length,
            times,
        }
    }
}

/// The longest streak of the same call; the first of several.
pub fn longest_streak(same: &[usize]) -> Sign {
    let (mut first, mut longest) = (0, Sign::default());
    for streak in same.chunk_by(usize::eq) {
        let times = streak.len();
        if times > longest.times {
            longest = Sign::of(first, 1, times);
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
                best = Sign::of(first, length, times);
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
            longest = Sign::of(index + 1 - times, 1, times);
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
