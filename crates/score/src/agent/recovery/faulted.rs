//! Which calls of a run met a fault, and what each of them says.

use super::{FaultedCall, RecoveryObservation, UnsettledCall, score_recovery};
use crate::prelude::*;

/// The calls that met a fault, or may have.
#[derive(Default)]
pub struct Faulted {
    pub calls: Vec<FaultedCall>,
    pub unsettled: Vec<UnsettledCall>,
    /// The calls that a fault only delayed.
    pub waited_out: Vec<usize>,
}

impl Faulted {
    /// Each call by its first mark: the first fault that matches a call is the one that it meets.
    pub fn of(run: &AgentRun, max_detection_ms: u64) -> Self {
        let faults = run.faults.iter();
        let mut marks: Vec<&FaultMark> = faults.filter(|mark| mark.kind.is_fault()).collect();
        marks.sort_by_key(|mark| mark.call_index);
        marks.dedup_by_key(|mark| mark.call_index);
        let mut counts = BTreeMap::new();
        let mut faulted = Self::default();
        for mark in marks {
            let met_before = counts.entry(mark.fault.as_deref()).or_insert(0_u64);
            faulted.add(mark, *met_before, max_detection_ms);
            if mark.kind.special() == Special::Recovers {
                *met_before += 1;
            }
        }
        faulted.find_repetitions(run);
        faulted
    }

    /// Finds for each watched call the next one that is the same.
    fn find_repetitions(&mut self, run: &AgentRun) {
        let is_watched = |call: &FaultedCall| call.watched_ms.is_some();
        if !self.calls.iter().any(is_watched) {
            return;
        }
        let identities: Vec<Identity<'_>> = run.tool_calls.iter().map(Identity::of).collect();
        let same = first_equal(&identities);
        let mut next = vec![None; same.len()];
        let mut after: BTreeMap<usize, usize> = BTreeMap::new();
        for (index, first) in same.iter().enumerate().rev() {
            next[index] = after.insert(*first, index);
        }
        for call in self.calls.iter_mut().filter(|call| is_watched(call)) {
            call.repeated_by = next.get(call.call_index).copied().flatten();
        }
    }

    fn add(&mut self, mark: &FaultMark, met_before: u64, max_detection_ms: u64) {
        let mut unsettled = |untold: &str| {
            self.unsettled.push(UnsettledCall {
                call_index: mark.call_index,
                fault: mark.fault.clone(),
                kind: mark.kind,
                untold: untold.to_owned(),
                watched_ms: mark.watched_ms,
                left_ms: mark.left_ms,
            });
        };
        let is_real_clock = mark.is_real_clock();
        let detected_ms = if is_cut_short(mark, max_detection_ms) {
            return unsettled("detected_ms");
        } else if is_left(mark) {
            mark.left_ms
        } else if is_real_clock {
            after_start(mark.detected_ms)
        } else {
            match noticed_ms(mark, met_before, max_detection_ms) {
                Ok(Some(time)) => Some(time),
                Ok(None) => {
                    // A `recover_after` that has recovered does not strike any more.
                    let waited_out = mark.delay_ms.map(|_| mark.call_index);
                    return self.waited_out.extend(waited_out);
                }
                Err(untold) => return unsettled(untold),
            }
        };
        let observation = RecoveryObservation {
            call_start_ms: 0,
            detected_ms,
            recovered_ms: after_start(mark.recovered_ms),
            timeout_budget_ms: max_detection_ms,
        };
        self.calls.push(FaultedCall {
            call_index: mark.call_index,
            fault: mark.fault.clone(),
            kind: mark.kind,
            is_real_clock,
            watched_ms: mark.watched_ms,
            is_left: is_left(mark),
            is_given_up: mark.went_on == Some(false) || is_left(mark),
            repeated_by: None,
            report: score_recovery(&observation),
        });
    }
}

/// When a fault is noticed in virtual time ([`observe_run`](super::observe_run) has the table), which `met_before`
/// calls met before; none where it does nothing, and an error with what it depends on where that is not told.
fn noticed_ms(
    mark: &FaultMark,
    met_before: u64,
    max_detection_ms: u64,
) -> Result<Option<u64>, &'static str> {
    let times_out = if mark.kind.special() == Special::Recovers {
        met_before < mark.failures.ok_or("failures")?
    } else if mark.kind.executes() == Execution::Late {
        mark.delay_ms.ok_or("delay_ms")? >= max_detection_ms
    } else if mark.kind.is_silent() {
        true
    } else {
        return Ok(Some(0));
    };
    Ok(times_out.then_some(max_detection_ms))
}

/// Whether nobody knows if a fault was noticed within the budget: nobody had by the end of the recording, which
/// is before that, or the client gave no sign before it left, which is after.
fn is_cut_short(mark: &FaultMark, max_detection_ms: u64) -> bool {
    if is_left(mark) {
        return mark.left_ms.is_some_and(|time| time > max_detection_ms);
    }
    is_open(mark) && mark.watched_ms.is_some_and(|time| time < max_detection_ms)
}

/// Whether all that is known of a call is that its client left: by then it had noticed.
fn is_left(mark: &FaultMark) -> bool {
    is_open(mark) && mark.left_ms.is_some()
}

fn is_open(mark: &FaultMark) -> bool {
    mark.detected_ms.is_none() && mark.recovered_ms.is_none()
}

/// A mark before the call began did not happen.
fn after_start(mark: Option<i64>) -> Option<u64> {
    u64::try_from(mark?).ok()
}
