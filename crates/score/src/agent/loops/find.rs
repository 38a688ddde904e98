//! Finding repeats, cycles and stagnation in the calls of one run.

use super::signs::{Doubts, Sign, best_cycle, longest_stagnation, longest_streak};
use super::{CallRange, LoopsBlock, LoopsReport};
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
    let known = |of: fn(&Signs) -> usize| {
        let is_known = of(&certain) == of(&possible);
        is_known.then(|| count(of(&certain)))
    };
    let detected = if certain.exceed(block) {
        Some(true)
    } else {
        (!possible.exceed(block)).then_some(false)
    };
    let is_known = certain.counts() == possible.counts();
    let Signs {
        repeats,
        cycle,
        stagnant,
    } = certain;
    let names = |sign: Sign, told: usize| {
        let calls = calls.iter().skip(sign.first).take(told);
        calls.map(|call| call.name.clone())
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
        max_repeats: known(|signs| signs.repeats.times),
        max_cycle_repeats: known(|signs| signs.cycle.times),
        cycle_length: known(|signs| signs.cycle.length),
        stagnation: known(|signs| signs.stagnant.times),
        first_unknown: blurred
            .filter(|_| !is_known)
            .map(|blurred| blurred.first_unknown),
        repeats: (repeats.times > 1).then(|| range(repeats, names(repeats, 1).collect())),
        cycle: (cycle.times > 0).then(|| range(cycle, names(cycle, cycle.length).collect())),
        stagnant: (stagnant.times > 0).then(|| {
            let each = names(stagnant, stagnant.times);
            let once = each.filter(|name| known_names.insert(name.clone()));
            range(stagnant, once.take(NAMES_KEPT).collect())
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
        let Self {
            repeats,
            cycle,
            stagnant,
        } = self;
        [repeats.times, cycle.times, cycle.length, stagnant.times]
    }

    fn exceed(&self, block: &LoopsBlock) -> bool {
        count(self.repeats.times) > block.max_repeats
            || count(self.cycle.times) > block.max_cycle_repeats
            || count(self.stagnant.times) > block.max_stagnation
    }
}
