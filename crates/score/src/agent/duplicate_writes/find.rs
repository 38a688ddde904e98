//! Finding the writes that are repeated.

use super::prelude::*;

/// Finds the writes of a run that were repeated though an earlier attempt was, or may have been,
/// executed.
///
/// ```
/// use mcprove_score::agent::duplicate_writes::{DuplicateWritesBlock, find_duplicate_writes};
/// use mcprove_trace::{AgentRun, FaultKind, FaultMark, ToolCall};
///
/// let create = ToolCall { name: "create_issue".into(), ..ToolCall::default() };
/// let lost = FaultMark { call_index: 0, kind: FaultKind::LoseReply, ..FaultMark::default() };
/// let run = AgentRun {
///     tool_calls: vec![create.clone(), create],
///     faults: vec![lost],
///     ..AgentRun::default()
/// };
/// let report = find_duplicate_writes(&run, &DuplicateWritesBlock::default());
/// assert_eq!((report.at_risk, report.confirmed), (0, 1));
/// assert_eq!(report.writes[0].reason, "was executed, and met the fault lose_reply");
/// ```
pub fn find_duplicate_writes(
    run: &AgentRun,
    block: &DuplicateWritesBlock,
) -> DuplicateWritesReport {
    let results = run.results();
    let mut faults: BTreeMap<usize, Vec<&FaultMark>> = BTreeMap::new();
    for mark in &run.faults {
        faults.entry(mark.call_index).or_default().push(mark);
    }
    let result_of = |index: usize| results.get(index).copied().flatten();
    let met = |index: usize| faults.get(&index).map_or(&[][..], Vec::as_slice);
    let outcome_of = |index: usize| outcome(result_of(index), met(index));
    let (writes, identities) = writes(block, &run.tool_calls);
    let unknown = tools_of_unknown_arguments(&writes);
    let mut report = DuplicateWritesReport {
        undecided: undecided(&writes, &unknown, outcome_of),
        ..DuplicateWritesReport::default()
    };
    let mut attempts: BTreeMap<usize, Attempts> = BTreeMap::new();
    let same = first_equal(&identities);
    let mut times = vec![0_usize; same.len()];
    for first in &same {
        times[*first] += 1;
    }
    for (write, first) in writes.into_iter().zip(same) {
        let index = write.index;
        // What a fault kept from being executed is no side effect, whatever it repeats.
        if let Some(fault) = kept_off(result_of(index), met(index)) {
            attempts.entry(first).or_default().kept_off = Some((index, fault));
            continue;
        }
        // One that is made only once needs no more.
        if times[first] == 1 {
            continue;
        }
        let attempts = attempts.entry(first).or_default();
        match attempts.repeated(&write) {
            Some(Repetition::Duplicate(write)) => report.add(write),
            Some(Repetition::Protected) => report.protected += 1,
            None => {}
        }
        attempts.note(index, write.key, outcome_of(index));
    }
    for (call_index, fault) in attempts.values().filter_map(Attempts::lost) {
        let call = &run.tool_calls[call_index];
        // Another attempt may be one at this write: nobody knows whether that made it.
        if unknown.get(&tool_of(call)).is_some_and(|times| *times > 1) {
            report.lost = None;
            continue;
        }
        report.lost = report.lost.map(|lost| lost + 1);
        if report.lost_writes.len() < DUPLICATES_KEPT {
            report.lost_writes.push(LostWrite {
                call_index,
                name: call.name.clone(),
                fault,
            });
        }
    }
    report
}

/// How many writes there are of each tool that has one whose arguments are unknown.
fn tools_of_unknown_arguments<'a>(writes: &[Write<'a>]) -> BTreeMap<Tool<'a>, usize> {
    let mut tools: BTreeMap<Tool<'a>, usize> = writes
        .iter()
        .filter(|write| write.call.args.is_null())
        .map(|write| (tool_of(write.call), 0))
        .collect();
    for write in writes {
        if let Some(times) = tools.get_mut(&tool_of(write.call)) {
            *times += 1;
        }
    }
    tools
}

/// The first write that may repeat another one of its tool, of which the arguments of one are unknown
/// and the earlier one was, or may have been, executed.
fn undecided(
    writes: &[Write<'_>],
    unknown: &BTreeMap<Tool<'_>, usize>,
    outcome_of: impl Fn(usize) -> WriteOutcome,
) -> Option<UndecidedWrite> {
    // For each such tool the first attempt that may have been executed, and the first of unknown
    // arguments among those.
    let mut earlier: BTreeMap<Tool<'_>, [Option<usize>; 2]> = BTreeMap::new();
    for write in writes {
        let tool = tool_of(write.call);
        if write.is_idempotent || !unknown.contains_key(&tool) {
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
        if outcome_of(write.index) != WriteOutcome::NotExecuted {
            any.get_or_insert(write.index);
            if is_unknown {
                unknown.get_or_insert(write.index);
            }
        }
    }
    None
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

// What is known of the attempts at one write so far, and what one more attempt is.

/// What is known of the attempts at one write so far.
#[derive(Default)]
struct Attempts {
    /// One that succeeded without a key.
    succeeded: Option<usize>,
    succeeded_with_key: Option<usize>,
    /// Those that were executed, though the client did not hear of it: the first, and the first with another
    /// key than that.
    executed: [Option<Attempt>; 2],
    /// Those that may have been executed, likewise.
    unknown: [Option<Attempt>; 2],
    /// The keys of all of these.
    keys: BTreeSet<String>,
    /// The last that a fault kept from being executed.
    pub kept_off: Option<(usize, FaultKind)>,
}

struct Attempt {
    index: usize,
    key: Option<String>,
    reason: String,
}

/// What one more attempt at a write is.
enum Repetition {
    /// A write made twice, or perhaps.
    Duplicate(DuplicateWrite),
    /// Safe: the same write under the same key, or of a tool that writes the same.
    Protected,
}

impl Attempts {
    /// What one more attempt repeats; `None` for nothing.
    pub fn repeated(&self, write: &Write<'_>) -> Option<Repetition> {
        if write.is_idempotent {
            return self.may_be_made().then_some(Repetition::Protected);
        }
        let key = write.key.as_ref();
        let duplicate = |repeats: usize, is_confirmed: bool, reason: &str| {
            Some(Repetition::Duplicate(DuplicateWrite {
                call_index: write.index,
                repeats,
                name: write.call.name.clone(),
                is_confirmed,
                reason: reason.to_owned(),
            }))
        };
        // Without a key the server cannot tell it from what succeeded, whatever key that had.
        if let (None, Some(repeats)) = (key, self.succeeded.or(self.succeeded_with_key)) {
            return duplicate(repeats, true, "had succeeded");
        }
        for (attempts, is_certain) in [(&self.executed, true), (&self.unknown, false)] {
            let mut attempts = attempts.iter().flatten();
            // The same key makes it safe; no key never does.
            let is_unsafe = |attempt: &&Attempt| key.is_none() || attempt.key.as_ref() != key;
            if let Some(attempt) = attempts.find(is_unsafe) {
                return duplicate(attempt.index, is_certain, &attempt.reason);
            }
        }
        key.is_some_and(|key| self.keys.contains(key))
            .then_some(Repetition::Protected)
    }

    /// Notes what became of one attempt.
    pub fn note(&mut self, index: usize, key: Option<String>, outcome: WriteOutcome) {
        if outcome != WriteOutcome::NotExecuted {
            self.keys.extend(key.clone());
        }
        match (outcome, key) {
            (WriteOutcome::NotExecuted, _) => {}
            (WriteOutcome::Executed, None) => self.succeeded = Some(index),
            (WriteOutcome::Executed, Some(_)) => self.succeeded_with_key = Some(index),
            (WriteOutcome::Unheard { is_certain, reason }, key) => {
                let [first, other] = if is_certain {
                    &mut self.executed
                } else {
                    &mut self.unknown
                };
                let is_other = first.as_ref().is_some_and(|first| first.key != key);
                let attempt = Attempt { index, key, reason };
                if is_other {
                    other.get_or_insert(attempt);
                } else {
                    first.get_or_insert(attempt);
                }
            }
        }
    }

    /// The last attempt that a fault kept off, where nothing was made of the write at all.
    pub fn lost(&self) -> Option<(usize, FaultKind)> {
        self.kept_off.filter(|_| !self.may_be_made())
    }

    fn may_be_made(&self) -> bool {
        let unheard = self.executed.iter().chain(&self.unknown).flatten();
        let succeeded = self.succeeded.or(self.succeeded_with_key);
        succeeded.is_some() || unheard.count() > 0
    }
}
