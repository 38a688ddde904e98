//! The modes in which the order does not count: unordered, superset and subset. Each expected call
//! is paired with a recorded one of its own, as many as possible ([`maximum_matching`]).

use crate::matching::maximum_matching;

use super::prelude::*;

/// Which expected calls have which recorded ones.
pub struct Pairs<'a> {
    plan: &'a Plan,
    calls: &'a [ToolCall],
    /// For each expected call the recorded one.
    call_of: Vec<Option<usize>>,
    /// For each recorded call whether it is taken.
    is_taken: Vec<bool>,
}

impl<'a> Pairs<'a> {
    /// Pairs off as many calls as possible that fit at least so well; `None` where that takes too long.
    pub fn find(plan: &'a Plan, calls: &'a [ToolCall], least: Fit) -> Option<Self> {
        let mut pairs = Self {
            plan,
            calls,
            call_of: vec![None; plan.references.len()],
            is_taken: vec![false; calls.len()],
        };
        let by_name = places_by_name(calls, 0);
        let mut comparisons = COMPARISONS_MAX;
        for (name, demands) in &plan.tools {
            if let Some(places) = by_name.get(name.as_str()) {
                pairs.of_tool(demands, places, least, &mut comparisons)?;
            }
        }
        Some(pairs)
    }

    /// Pairs the calls of one tool: first the expected ones that not every call fits, then those that
    /// take whatever is left. So the latter are never in the way, and the sum is the largest.
    fn of_tool(
        &mut self,
        demands: &[Vec<usize>],
        places: &[usize],
        least: Fit,
        comparisons: &mut usize,
    ) -> Option<()> {
        let is_free = |indices: &&Vec<usize>| self.plan.first_of(indices).is_free();
        let (free, picky): (Vec<&Vec<usize>>, Vec<&Vec<usize>>) = demands.iter().partition(is_free);
        if !picky.is_empty() {
            let kinds = kinds_of(self.calls, places);
            let references: Vec<&Reference> =
                picky.iter().map(|it| self.plan.first_of(it)).collect();
            let supply: Vec<usize> = picky.iter().map(|indices| indices.len()).collect();
            let room: Vec<usize> = kinds.iter().map(|kind| kind.places.len()).collect();
            let enough = supply.iter().sum();
            let fits = fitting(&references, &kinds, enough, least, comparisons)?;
            let mut left: Vec<_> = kinds.iter().map(|kind| kind.places.iter()).collect();
            let matching = maximum_matching(&supply, &room, &fits);
            for (indices, partners) in picky.into_iter().zip(matching) {
                let mut indices = indices.iter();
                for (kind, amount) in partners {
                    for (index, place) in indices.by_ref().take(amount).zip(&mut left[kind]) {
                        self.pair(*index, *place);
                    }
                }
            }
        }
        let left: Vec<&usize> = places
            .iter()
            .filter(|place| !self.is_taken[**place])
            .collect();
        for (index, place) in free.into_iter().flatten().zip(left) {
            self.pair(*index, *place);
        }
        Some(())
    }

    fn pair(&mut self, index: usize, place: usize) {
        self.call_of[index] = Some(place);
        self.is_taken[place] = true;
    }

    /// For unordered and superset: the expected calls that have no recorded one.
    pub fn missing(&self) -> Mismatches {
        let mut mismatches = Mismatches::default();
        let expected = self.plan.references.iter().zip(&self.call_of).enumerate();
        for (index, (reference, _)) in expected.filter(|(_, (_, call))| call.is_none()) {
            mismatches.add(|| self.explain_missing(reference, index));
        }
        mismatches
    }

    fn explain_missing(&self, reference: &Reference, index: usize) -> Mismatch {
        let name = quoted(&reference.name);
        let mut same_name = self
            .calls
            .iter()
            .enumerate()
            .filter(|(_, call)| call.name == reference.name);
        let made = same_name.clone().count();
        if let Some((place, call)) = same_name.find(|(place, _)| !self.is_taken[*place]) {
            let (diffs, words) = reference.difference(call);
            let reason = sentence!(
                "no call is left that fits expected call {index}, {name}: call {place} is one, but {words}"
            );
            return Mismatch::new(Some(index), Some(place), diffs, reason);
        }
        let reason = if made == 0 {
            sentence!("expected call {index}, {name}, was never made")
        } else {
            let taken = all_taken(made, "call", "expected call");
            sentence!("no call is left for expected call {index}, {name}: {taken}")
        };
        Mismatch::new(Some(index), None, Vec::new(), reason)
    }

    /// For subset: the recorded calls that have no expected one.
    pub fn extra(&self) -> Mismatches {
        let mut mismatches = Mismatches::default();
        for (place, call) in self.calls.iter().enumerate() {
            if !self.is_taken[place] {
                mismatches.add(|| self.explain_extra(place, call));
            }
        }
        mismatches
    }

    fn explain_extra(&self, place: usize, call: &ToolCall) -> Mismatch {
        let name = quoted(&call.name);
        let mut same_name = self
            .plan
            .references
            .iter()
            .enumerate()
            .filter(|(_, reference)| reference.name == call.name);
        let expected = same_name.clone().count();
        let (diffs, reason) = if let Some((index, reference)) =
            same_name.find(|(index, _)| self.call_of[*index].is_none())
        {
            let (diffs, words) = reference.difference(call);
            let reason = sentence!(
                "call {place}, {name}, fits no expected call that is left: compared with expected call {index}, {words}"
            );
            (diffs, reason)
        } else if expected == 0 {
            let reason = sentence!("call {place}, {name}, is not among the expected calls");
            (Vec::new(), reason)
        } else {
            let taken = all_taken(expected, "expected call", "call");
            let reason = sentence!("call {place}, {name}, is one too many: {taken}");
            (Vec::new(), reason)
        };
        Mismatch::new(None, Some(place), diffs, reason)
    }
}

/// Why nothing of a tool is left to be paired with.
fn all_taken(many: usize, what: &str, by: &str) -> String {
    match many {
        1 => format!("the only {what} of the tool is taken by another {by}"),
        _ => format!("all {many} {what}s of the tool are taken by other {by}s"),
    }
}
