//! Finding the writes that are repeated.

use std::collections::{BTreeMap, BTreeSet};

use super::outcome::{Outcome, outcome};
use super::writes::{Tools, Write};
use super::{
    DUPLICATES_KEPT, DuplicateWrite, DuplicateWritesBlock, DuplicateWritesReport, UndecidedWrite,
};
use crate::agent::tool_name::{Tool, tool_of};
use crate::canonical::{Identity, first_equal};
use crate::trace::{AgentRun, FaultKind, ToolCall};

/// What is known of the attempts at one write so far.
#[derive(Default)]
struct Attempts {
    /// One that succeeded without a key.
    succeeded: Option<usize>,
    /// One that succeeded with a key.
    succeeded_with_key: Option<usize>,
    /// One that may have been executed.
    unknown: Option<Unknown>,
    /// One that may have been executed, with another key than that.
    other_unknown: Option<Unknown>,
}

struct Unknown {
    index: usize,
    key: Option<String>,
    reason: String,
}

/// Finds the writes of a run that were repeated though an earlier attempt was, or may have been,
/// executed.
///
/// ```
/// use mcprove_score::agent::duplicate_writes::{DuplicateWritesBlock, find_duplicate_writes};
/// use mcprove_score::trace::{AgentRun, FaultKind, FaultMark, ToolCall};
///
/// let create = ToolCall { name: "create_issue".into(), ..ToolCall::default() };
/// let lost = FaultMark { call_index: 0, kind: FaultKind::LoseReply, ..FaultMark::default() };
/// let run = AgentRun {
///     tool_calls: vec![create.clone(), create],
///     faults: vec![lost],
///     ..AgentRun::default()
/// };
/// let report = find_duplicate_writes(&run, &DuplicateWritesBlock::default());
/// assert_eq!((report.at_risk, report.confirmed), (1, 0));
/// assert_eq!(report.writes[0].reason, "met the fault lose_reply and may have been executed");
/// ```
pub fn find_duplicate_writes(
    run: &AgentRun,
    block: &DuplicateWritesBlock,
) -> DuplicateWritesReport {
    let results = run.results();
    let mut faults: BTreeMap<usize, Vec<FaultKind>> = BTreeMap::new();
    for mark in &run.faults {
        faults.entry(mark.call_index).or_default().push(mark.kind);
    }
    let outcome_of = |index: usize| {
        let result = results.get(index).copied().flatten();
        let met = faults.get(&index).map_or(&[][..], Vec::as_slice);
        outcome(result, met)
    };
    let tools = Tools::new(block);
    let writes = tools.writes(&run.tool_calls);
    let mut report = DuplicateWritesReport {
        undecided: undecided(&writes, outcome_of),
        ..DuplicateWritesReport::default()
    };
    let mut attempts: BTreeMap<usize, Attempts> = BTreeMap::new();
    for write in repeated(writes) {
        let attempts = attempts.entry(write.first).or_default();
        if let Some((repeats, is_confirmed, reason)) = attempts.repeated(write.key.as_ref()) {
            report.add(DuplicateWrite {
                call_index: write.index,
                repeats,
                name: write.call.name.clone(),
                is_confirmed,
                reason,
            });
        }
        attempts.note(write.index, write.key, outcome_of(write.index));
    }
    report
}

/// A write that is made more than once.
struct Repeated<'a> {
    index: usize,
    /// The first that writes the same, counted among the writes.
    first: usize,
    call: &'a ToolCall,
    key: Option<String>,
}

/// The writes that are made more than once, in order.
fn repeated(writes: Vec<Write<'_>>) -> Vec<Repeated<'_>> {
    let (identities, writes): (Vec<Identity<'_>>, Vec<_>) = writes
        .into_iter()
        .map(|write| (write.identity, (write.index, write.call, write.key)))
        .unzip();
    let same = first_equal(&identities);
    let mut times = vec![0_usize; same.len()];
    for first in &same {
        if let Some(times) = times.get_mut(*first) {
            *times += 1;
        }
    }
    let numbered = writes.into_iter().zip(same);
    numbered
        .filter(|(_, first)| times.get(*first).is_some_and(|times| *times > 1))
        .map(|((index, call, key), first)| Repeated {
            index,
            first,
            call,
            key,
        })
        .collect()
}

/// The first write that may repeat another one of its tool, of which the arguments of one are unknown
/// and the earlier one was, or may have been, executed.
fn undecided(
    writes: &[Write<'_>],
    outcome_of: impl Fn(usize) -> Outcome,
) -> Option<UndecidedWrite> {
    let unknown: BTreeSet<Tool<'_>> = writes
        .iter()
        .filter(|write| write.call.args.is_null())
        .map(|write| tool_of(write.call))
        .collect();
    // For each such tool the first attempt that may have been executed, and the first of unknown
    // arguments among those.
    let mut earlier: BTreeMap<Tool<'_>, [Option<usize>; 2]> = BTreeMap::new();
    for write in writes {
        let tool = tool_of(write.call);
        if !unknown.contains(&tool) {
            continue;
        }
        let is_unknown = write.call.args.is_null();
        let [any, unknown] = earlier.entry(tool).or_default();
        let repeats = if is_unknown { *any } else { *unknown };
        if let Some(repeats) = repeats {
            return Some(UndecidedWrite {
                call_index: write.index,
                repeats,
                name: write.call.name.clone(),
            });
        }
        if outcome_of(write.index) != Outcome::NotExecuted {
            any.get_or_insert(write.index);
            if is_unknown {
                unknown.get_or_insert(write.index);
            }
        }
    }
    None
}

impl Attempts {
    /// The attempt that one more, with this key, repeats; whether that had certainly been executed;
    /// and what is known of it.
    fn repeated(&self, key: Option<&String>) -> Option<(usize, bool, String)> {
        // Without a key the server cannot tell it from what succeeded, whatever key that had.
        if let (None, Some(index)) = (key, self.succeeded.or(self.succeeded_with_key)) {
            return Some((index, true, "had succeeded".to_owned()));
        }
        let both = [&self.unknown, &self.other_unknown];
        // The same key makes it safe; no key never does.
        let unsafe_one = both
            .into_iter()
            .flatten()
            .find(|unknown| key.is_none() || unknown.key.as_ref() != key);
        unsafe_one.map(|unknown| (unknown.index, false, unknown.reason.clone()))
    }

    fn note(&mut self, index: usize, key: Option<String>, outcome: Outcome) {
        match outcome {
            Outcome::NotExecuted => {}
            Outcome::Executed => {
                let succeeded = match key {
                    None => &mut self.succeeded,
                    Some(_) => &mut self.succeeded_with_key,
                };
                *succeeded = Some(index);
            }
            Outcome::Unknown(reason) => {
                let unknown = Unknown { index, key, reason };
                match &self.unknown {
                    None => self.unknown = Some(unknown),
                    Some(first) if first.key != unknown.key && self.other_unknown.is_none() => {
                        self.other_unknown = Some(unknown);
                    }
                    Some(_) => {}
                }
            }
        }
    }
}

impl DuplicateWritesReport {
    fn add(&mut self, write: DuplicateWrite) {
        if write.is_confirmed {
            self.confirmed += 1;
        } else {
            self.at_risk += 1;
        }
        if self.writes.len() < DUPLICATES_KEPT {
            self.writes.push(write);
        }
    }
}
