//! The mode subsequence: in order, with other calls between.
//!
//! Each expected call takes the first call after that of the one before which fits; if all can be
//! found, then so. If not, as many as possible are found in order ([`longest`]), and each of the others
//! is one mismatch.

use std::collections::BTreeMap;

use mcprove_settings::number::count;
use mcprove_settings::phrase;
use mcprove_trace::ToolCall;

use super::alignment::longest;
use super::fitting::{Comparisons, TooMany, fitting, kinds_of, places_by_name};
use super::reference::{Doubt, Plan, Reference};
use super::report::{Mismatch, Mismatches};

/// The expected calls that do not occur in order.
pub fn subsequence(plan: &Plan, calls: &[ToolCall], doubt: Doubt) -> Result<Mismatches, TooMany> {
    let (found, start) = follow(&plan.references, calls, doubt)?;
    if found == plan.references.len() {
        return Ok(Mismatches::default());
    }
    let rest = Rest {
        first: 0,
        start: 0,
        doubt,
    };
    let best = Places::find(plan, calls, rest).ok().and_then(|places| {
        let chosen = longest(plan.references.len(), |index| places.of(index))?;
        Some((places, chosen))
    });
    if let Some((places, chosen)) = best {
        let matched = places.earliest(&chosen);
        return Ok(describe(plan, calls, &places, &matched));
    }
    // Too many to find the best way: the way that was gone so far is gone on.
    let rest = Rest {
        first: found,
        start,
        doubt,
    };
    let places = Places::find(plan, calls, rest)?;
    Ok(go_on(plan, calls, &places, rest))
}

/// From which expected call and which recorded one on, and how doubts are settled.
#[derive(Clone, Copy)]
struct Rest {
    first: usize,
    start: usize,
    doubt: Doubt,
}

/// Follows the references through the calls until one is not found: how many were, and from which
/// call on the next one was looked for. Each call is looked into once.
fn follow(
    references: &[Reference],
    calls: &[ToolCall],
    doubt: Doubt,
) -> Result<(usize, usize), TooMany> {
    let (mut found, mut start) = (0, 0);
    let mut comparisons = Comparisons::new();
    for (place, call) in calls.iter().enumerate() {
        let Some(reference) = references.get(found) else {
            break;
        };
        if reference.name == call.name {
            comparisons.take(reference.shape.comparisons())?;
        }
        if doubt.settle(reference.fit(call)) {
            found += 1;
            start = place + 1;
        }
    }
    Ok((found, start))
}

/// Each reference takes the first call that fits; one that finds none is a mismatch, and the next one
/// is looked for from the same place on. That can be more mismatches than there must be.
fn go_on(plan: &Plan, calls: &[ToolCall], places: &Places, rest: Rest) -> Mismatches {
    let mut mismatches = Mismatches {
        is_at_most: true,
        ..Mismatches::default()
    };
    let mut start = rest.start;
    for (index, reference) in plan.references.iter().enumerate().skip(rest.first) {
        if let Some(place) = places.next(index, start) {
            start = place + 1;
        } else {
            let window = Window {
                start,
                end: calls.len(),
            };
            mismatches.add(|| missing(reference, index, calls, window));
        }
    }
    mismatches
}

/// The places of the calls that fit each reference, ascending.
struct Places {
    kind_of: BTreeMap<usize, usize>,
    kinds: Vec<Vec<usize>>,
}

impl Places {
    fn find(plan: &Plan, calls: &[ToolCall], rest: Rest) -> Result<Self, TooMany> {
        let by_name = places_by_name(calls, rest.start);
        let mut comparisons = Comparisons::new();
        let mut kind_of = BTreeMap::new();
        let mut kinds = Vec::new();
        for (name, same) in &plan.tools {
            let (demands, references): (Vec<&Vec<usize>>, Vec<&Reference>) = same
                .iter()
                .filter(|places| places.last() >= Some(&rest.first))
                .filter_map(|places| Some((places, plan.first_of(places)?)))
                .unzip();
            let called = by_name.get(name.as_str()).map_or(&[][..], Vec::as_slice);
            let recorded = kinds_of(calls, called);
            let all = usize::MAX;
            let fits = fitting(&references, &recorded, all, rest.doubt, &mut comparisons)?;
            for (indices, fits) in demands.into_iter().zip(fits) {
                kind_of.extend(indices.iter().map(|index| (*index, kinds.len())));
                let mut places: Vec<usize> = fits
                    .into_iter()
                    .filter_map(|kind| recorded.get(kind))
                    .flat_map(|kind| kind.places.clone())
                    .collect();
                places.sort_unstable();
                kinds.push(places);
            }
        }
        Ok(Self { kind_of, kinds })
    }

    /// The calls that fit the reference.
    fn of(&self, reference: usize) -> &[usize] {
        let kind = self.kind_of.get(&reference);
        let places = kind.and_then(|kind| self.kinds.get(*kind));
        places.map_or(&[], Vec::as_slice)
    }

    /// The first call from `start` on that fits the reference.
    fn next(&self, reference: usize, start: usize) -> Option<usize> {
        let places = self.of(reference);
        let after = places.partition_point(|place| *place < start);
        places.get(after).copied()
    }

    /// For each reference that is chosen the earliest call that it can have.
    fn earliest(&self, chosen: &[bool]) -> Vec<Option<usize>> {
        let mut start = 0;
        let mut matched = Vec::with_capacity(chosen.len());
        for (index, is_chosen) in chosen.iter().enumerate() {
            let place = if *is_chosen {
                self.next(index, start)
            } else {
                None
            };
            start = place.map_or(start, |place| place + 1);
            matched.push(place);
        }
        matched
    }
}

/// The calls among which a reference had to be: those from `start` on, before `end`.
#[derive(Clone, Copy)]
struct Window {
    start: usize,
    end: usize,
}

/// One mismatch for each reference that has no call.
fn describe(
    plan: &Plan,
    calls: &[ToolCall],
    places: &Places,
    matched: &[Option<usize>],
) -> Mismatches {
    let mut ends = Vec::with_capacity(matched.len());
    let mut end = calls.len();
    for place in matched.iter().rev() {
        ends.push(end);
        end = place.unwrap_or(end);
    }
    ends.reverse();
    let mut mismatches = Mismatches::default();
    let mut start = 0;
    for ((index, reference), (place, end)) in plan
        .references
        .iter()
        .enumerate()
        .zip(matched.iter().zip(ends))
    {
        if let Some(place) = place {
            start = place + 1;
            continue;
        }
        let window = Window { start, end };
        mismatches.add(|| match elsewhere(places.of(index), window) {
            Some(place) => out_of_order(reference, index, place, window),
            None => missing(reference, index, calls, window),
        });
    }
    mismatches
}

/// The nearest call that fits, though it is not where it had to be.
fn elsewhere(fitting: &[usize], window: Window) -> Option<usize> {
    let later = fitting.partition_point(|place| *place < window.end);
    let earlier = later.checked_sub(1);
    fitting
        .get(later)
        .or_else(|| fitting.get(earlier?))
        .copied()
}

/// A reference that was made, but too early or too late for the others.
fn out_of_order(reference: &Reference, index: usize, place: usize, window: Window) -> Mismatch {
    let name = phrase::name(&reference.name);
    let order = if place >= window.end {
        format!("call {place} fits, but comes after call {}", window.end)
    } else {
        let before = window.start.saturating_sub(1);
        format!("call {place} fits, but comes before call {before}")
    };
    let reason = format!(
        "expected call {index}, {name}, is out of order: {order}, which another expected call needs"
    );
    Mismatch::new(Some(index), Some(place), reason)
}

/// A reference that does not occur: the first call of the tool where it had to be is told, if there is
/// one, and why it does not fit.
fn missing(reference: &Reference, index: usize, calls: &[ToolCall], window: Window) -> Mismatch {
    let Window { start, end } = window;
    let name = phrase::name(&reference.name);
    let nearest = calls
        .iter()
        .enumerate()
        .take(end)
        .skip(start)
        .find(|(_, call)| call.name == reference.name);
    let searched = if end < calls.len() {
        format!("from call {start} on, before call {end}")
    } else {
        format!("from call {start} on")
    };
    let Some((place, call)) = nearest else {
        let reason = if start >= calls.len() {
            format!(
                "expected call {index}, {name}, was not found: the run ends before it, with {}",
                phrase::count(count(calls.len()), "call")
            )
        } else {
            format!("expected call {index}, {name}, was not found {searched}")
        };
        return Mismatch::new(Some(index), None, reason);
    };
    let (diffs, words) = reference.difference(call).unwrap_or_default();
    let reason = format!(
        "no call {searched} fits expected call {index}, {name}: call {place} is one, but {words}"
    );
    Mismatch {
        diffs,
        ..Mismatch::new(Some(index), Some(place), reason)
    }
}
