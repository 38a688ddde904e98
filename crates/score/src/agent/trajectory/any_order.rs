//! The modes in which the order does not count: unordered, superset and subset. Each expected call
//! is paired with a recorded one of its own, as many as possible ([`maximum_matching`]).

use mcprove_settings::phrase;
use mcprove_trace::ToolCall;

use super::fitting::{Comparisons, TooMany, fitting, kinds_of, places_by_name};
use super::reference::{Doubt, Plan, Reference};
use super::report::{Mismatch, Mismatches};
use crate::matching::maximum_matching;

/// Which expected calls have which recorded ones.
pub struct Pairs {
    /// For each expected call the recorded one.
    call_of: Vec<Option<usize>>,
    /// For each recorded call whether it is taken.
    is_taken: Vec<bool>,
}

/// The recorded calls of one tool.
struct Made<'a> {
    calls: &'a [ToolCall],
    /// The places of those of the tool.
    places: &'a [usize],
    doubt: Doubt,
}

impl Pairs {
    /// Pairs off as many calls as possible.
    pub fn find(plan: &Plan, calls: &[ToolCall], doubt: Doubt) -> Result<Self, TooMany> {
        let mut pairs = Self {
            call_of: vec![None; plan.references.len()],
            is_taken: vec![false; calls.len()],
        };
        let by_name = places_by_name(calls, 0);
        let mut comparisons = Comparisons::new();
        for (name, demands) in &plan.tools {
            if let Some(places) = by_name.get(name.as_str()) {
                let made = Made {
                    calls,
                    places,
                    doubt,
                };
                pairs.of_tool(plan, demands, &made, &mut comparisons)?;
            }
        }
        Ok(pairs)
    }

    /// Pairs the calls of one tool: first the expected ones that not every call fits, then those that
    /// take whatever is left. So the latter are never in the way, and the sum is the largest.
    fn of_tool(
        &mut self,
        plan: &Plan,
        demands: &[Vec<usize>],
        made: &Made<'_>,
        comparisons: &mut Comparisons,
    ) -> Result<(), TooMany> {
        let is_free =
            |indices: &&Vec<usize>| plan.first_of(indices).is_some_and(Reference::is_free);
        let (free, picky): (Vec<&Vec<usize>>, Vec<&Vec<usize>>) = demands.iter().partition(is_free);
        if !picky.is_empty() {
            self.of_picky(plan, &picky, made, comparisons)?;
        }
        let left: Vec<usize> = made
            .places
            .iter()
            .copied()
            .filter(|place| self.is_left(*place))
            .collect();
        for (index, place) in free.into_iter().flatten().zip(left) {
            self.pair(*index, place);
        }
        Ok(())
    }

    fn of_picky(
        &mut self,
        plan: &Plan,
        demands: &[&Vec<usize>],
        made: &Made<'_>,
        comparisons: &mut Comparisons,
    ) -> Result<(), TooMany> {
        let kinds = kinds_of(made.calls, made.places);
        let (demands, references): (Vec<&Vec<usize>>, Vec<&Reference>) = demands
            .iter()
            .filter_map(|indices| Some((*indices, plan.first_of(indices)?)))
            .unzip();
        let supply: Vec<usize> = demands.iter().map(|indices| indices.len()).collect();
        let room: Vec<usize> = kinds.iter().map(|kind| kind.places.len()).collect();
        let enough = supply.iter().sum();
        let fits = fitting(&references, &kinds, enough, made.doubt, comparisons)?;
        let matching = maximum_matching(&supply, &room, &fits);
        let mut left: Vec<_> = kinds.iter().map(|kind| kind.places.iter()).collect();
        for (indices, partners) in demands.into_iter().zip(matching) {
            let mut indices = indices.iter();
            for (kind, amount) in partners {
                let Some(places) = left.get_mut(kind) else {
                    continue;
                };
                for (index, place) in indices.by_ref().take(amount).zip(places) {
                    self.pair(*index, *place);
                }
            }
        }
        Ok(())
    }

    fn pair(&mut self, index: usize, place: usize) {
        if let Some(call) = self.call_of.get_mut(index) {
            *call = Some(place);
        }
        if let Some(is_taken) = self.is_taken.get_mut(place) {
            *is_taken = true;
        }
    }

    fn is_left(&self, place: usize) -> bool {
        self.is_taken.get(place) == Some(&false)
    }

    /// For unordered and superset: the expected calls that have no recorded one.
    pub fn missing(&self, plan: &Plan, calls: &[ToolCall]) -> Mismatches {
        let mut mismatches = Mismatches::default();
        for (index, (reference, call)) in plan.references.iter().zip(&self.call_of).enumerate() {
            if call.is_none() {
                mismatches.add(|| self.explain_missing(reference, index, calls));
            }
        }
        mismatches
    }

    fn explain_missing(&self, reference: &Reference, index: usize, calls: &[ToolCall]) -> Mismatch {
        let name = phrase::name(&reference.name);
        let same_name = || {
            calls
                .iter()
                .enumerate()
                .filter(|(_, call)| call.name == reference.name)
        };
        if let Some((place, call)) = same_name().find(|(place, _)| self.is_left(*place)) {
            let (diffs, words) = reference.difference(call).unwrap_or_default();
            let reason = format!(
                "no call is left that fits expected call {index}, {name}: call {place} is one, but {words}"
            );
            return Mismatch {
                diffs,
                ..Mismatch::new(Some(index), Some(place), reason)
            };
        }
        let reason = match same_name().count() {
            0 => format!("expected call {index}, {name}, was never made"),
            1 => format!(
                "expected call {index}, {name}, has no call of its own: the only call of the tool is taken by another expected call"
            ),
            made => format!(
                "expected call {index}, {name}, has no call of its own: all {made} calls of the tool are taken by other expected calls"
            ),
        };
        Mismatch::new(Some(index), None, reason)
    }

    /// For subset: the recorded calls that have no expected one.
    pub fn extra(&self, plan: &Plan, calls: &[ToolCall]) -> Mismatches {
        let mut mismatches = Mismatches::default();
        for (place, call) in calls.iter().enumerate() {
            if self.is_left(place) {
                mismatches.add(|| self.explain_extra(plan, place, call));
            }
        }
        mismatches
    }

    fn explain_extra(&self, plan: &Plan, place: usize, call: &ToolCall) -> Mismatch {
        let name = phrase::name(&call.name);
        let same_name = || {
            plan.references
                .iter()
                .zip(&self.call_of)
                .enumerate()
                .filter(|(_, (reference, _))| reference.name == call.name)
        };
        let nearest = same_name().find(|(_, (_, paired))| paired.is_none());
        if let Some((index, (reference, _))) = nearest {
            let (diffs, words) = reference.difference(call).unwrap_or_default();
            let reason = format!(
                "call {place}, {name}, fits no expected call that is left: compared with expected call {index}, {words}"
            );
            return Mismatch {
                diffs,
                ..Mismatch::new(None, Some(place), reason)
            };
        }
        let reason = match same_name().count() {
            0 => format!("call {place}, {name}, is not among the expected calls"),
            1 => format!(
                "call {place}, {name}, is one too many: the only expected call of the tool is taken by another call"
            ),
            expected => format!(
                "call {place}, {name}, is one too many: all {expected} expected calls of the tool are taken by other calls"
            ),
        };
        Mismatch::new(None, Some(place), reason)
    }
}
