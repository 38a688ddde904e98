//! The modes in which the order counts: strict, one for one, and subsequence, with other calls between.
//!
//! In a subsequence each expected call takes the first call after that of the one before which fits; if all can
//! be found, then so. If not, as many as possible are found in order ([`longest`]), and each of the others
//! is one mismatch.

use std::rc::Rc;

use super::prelude::*;

/// One for one: the call at each place fits the reference there. No references demand nothing.
pub fn strict(plan: &Plan, calls: &[ToolCall], least: Fit) -> Option<Mismatches> {
    let mut mismatches = Mismatches::default();
    let references = &plan.references;
    if references.is_empty() {
        return Some(mismatches);
    }
    let mut comparisons = COMPARISONS_MAX;
    for (place, (reference, call)) in references.iter().zip(calls).enumerate() {
        spend(&mut comparisons, reference.shape.cost())?;
        if reference.fit(call) < least {
            mismatches.add(|| {
                let (diffs, words) = reference.difference(call);
                let name = quoted(&reference.name);
                let reason = sentence!("call {place} is not the expected {name}: {words}");
                Mismatch::new(Some(place), Some(place), diffs, reason)
            });
        }
    }
    for (place, reference) in references.iter().enumerate().skip(calls.len()) {
        mismatches.add(|| {
            let reason = sentence!(
                "expected call {place}, {}, was not made: the run has {}",
                quoted(&reference.name),
                counted(count(calls.len()), "call")
            );
            Mismatch::new(Some(place), None, Vec::new(), reason)
        });
    }
    for (place, call) in calls.iter().enumerate().skip(references.len()) {
        mismatches.add(|| {
            let name = quoted(&call.name);
            let reason = sentence!("call {place}, {name}, comes after the last expected call");
            Mismatch::new(None, Some(place), Vec::new(), reason)
        });
    }
    Some(mismatches)
}

/// The expected calls that do not occur in order.
pub fn subsequence(plan: &Plan, calls: &[ToolCall], least: Fit) -> Option<Mismatches> {
    let (found, start) = follow(&plan.references, calls, least)?;
    if found == plan.references.len() {
        return Some(Mismatches::default());
    }
    let best = Places::find(plan, calls, 0, 0, least).and_then(|places| {
        let chosen = longest(plan.references.len(), |index| &places.0[index])?;
        Some((places, chosen))
    });
    if let Some((places, chosen)) = best {
        // For each reference that is chosen the earliest call that it can have.
        let mut start = 0;
        let place = |(index, is_chosen): (usize, bool)| {
            let place = places.next(index, start).filter(|_| is_chosen);
            start = place.map_or(start, |place| place + 1);
            place
        };
        let matched: Vec<Option<usize>> = chosen.into_iter().enumerate().map(place).collect();
        return Some(describe(plan, calls, &places, &matched));
    }
    // Too many to find the best way: the way that was gone so far is gone on.
    let places = Places::find(plan, calls, found, start, least)?;
    Some(go_on(plan, calls, &places, found, start))
}

/// Follows the references through the calls until one is not found: how many were, and from which
/// call on the next one was looked for. Each call is looked into once.
fn follow(references: &[Reference], calls: &[ToolCall], least: Fit) -> Option<(usize, usize)> {
    let (mut found, mut start) = (0, 0);
    let mut comparisons = COMPARISONS_MAX;
    for (place, call) in calls.iter().enumerate() {
        let Some(reference) = references.get(found) else {
            break;
        };
        if reference.name == call.name {
            spend(&mut comparisons, reference.shape.cost())?;
        }
        if reference.fit(call) >= least {
            found += 1;
            start = place + 1;
        }
    }
    Some((found, start))
}

/// Each reference takes the first call that fits; one that finds none is a mismatch, and the next one
/// is looked for from the same place on. That can be more mismatches than there must be.
fn go_on(
    plan: &Plan,
    calls: &[ToolCall],
    places: &Places,
    first: usize,
    mut start: usize,
) -> Mismatches {
    let mut mismatches = Mismatches {
        is_at_most: true,
        ..Mismatches::default()
    };
    for (index, reference) in plan.references.iter().enumerate().skip(first) {
        if let Some(place) = places.next(index, start) {
            start = place + 1;
        } else {
            let window = start..calls.len();
            mismatches.add(|| missing(reference, index, calls, &window));
        }
    }
    mismatches
}

/// For each reference the places of the calls that fit it, ascending.
struct Places(Vec<Rc<Vec<usize>>>);

impl Places {
    /// Those of the references from `first` on among the calls from `start` on.
    fn find(
        plan: &Plan,
        calls: &[ToolCall],
        first: usize,
        start: usize,
        least: Fit,
    ) -> Option<Self> {
        let by_name = places_by_name(calls, start);
        let mut comparisons = COMPARISONS_MAX;
        let mut places = vec![Rc::default(); plan.references.len()];
        for (name, demands) in &plan.tools {
            let demands: Vec<&Vec<usize>> = demands
                .iter()
                .filter(|indices| indices.last() >= Some(&first))
                .collect();
            let references: Vec<&Reference> = demands.iter().map(|it| plan.first_of(it)).collect();
            let called = by_name.get(name.as_str()).map_or(&[][..], Vec::as_slice);
            let kinds = kinds_of(calls, called);
            let fits = fitting(&references, &kinds, usize::MAX, least, &mut comparisons)?;
            for (indices, fits) in demands.into_iter().zip(fits) {
                let mut fitting: Vec<usize> = fits
                    .into_iter()
                    .flat_map(|kind| &kinds[kind].places)
                    .copied()
                    .collect();
                fitting.sort_unstable();
                let fitting = Rc::new(fitting);
                for index in indices {
                    places[*index] = Rc::clone(&fitting);
                }
            }
        }
        Some(Self(places))
    }

    /// The first call from `start` on that fits the reference.
    fn next(&self, reference: usize, start: usize) -> Option<usize> {
        let places = &self.0[reference];
        let after = places.partition_point(|place| *place < start);
        places.get(after).copied()
    }
}

/// One mismatch for each reference that has no call.
fn describe(
    plan: &Plan,
    calls: &[ToolCall],
    places: &Places,
    matched: &[Option<usize>],
) -> Mismatches {
    let mut ends = vec![calls.len(); matched.len()];
    let mut end = calls.len();
    for (index, place) in matched.iter().enumerate().rev() {
        ends[index] = end;
        end = place.unwrap_or(end);
    }
    let mut mismatches = Mismatches::default();
    let mut start = 0;
    for (index, reference) in plan.references.iter().enumerate() {
        if let Some(place) = matched[index] {
            start = place + 1;
            continue;
        }
        // The calls among which it had to be.
        let window = start..ends[index];
        mismatches.add(|| match elsewhere(&places.0[index], window.end) {
            Some(place) => out_of_order(reference, index, place, &window),
            None => missing(reference, index, calls, &window),
        });
    }
    mismatches
}

/// The nearest call that fits, though it is not where it had to be.
fn elsewhere(fitting: &[usize], end: usize) -> Option<usize> {
    let later = fitting.partition_point(|place| *place < end);
    let (earlier, later) = fitting.split_at(later);
    later.first().or(earlier.last()).copied()
}

/// A reference that was made, but too early or too late for the others.
fn out_of_order(
    reference: &Reference,
    index: usize,
    place: usize,
    window: &Range<usize>,
) -> Mismatch {
    let name = quoted(&reference.name);
    let (order, other) = if place >= window.end {
        ("after", window.end)
    } else {
        ("before", window.start.saturating_sub(1))
    };
    let reason = sentence!(
        "expected call {index}, {name}, is out of order: call {place} fits, but comes {order} call {other}, which another expected call needs"
    );
    Mismatch::new(Some(index), Some(place), Vec::new(), reason)
}

/// A reference that does not occur: the first call of the tool where it had to be is told, if there is
/// one, and why it does not fit.
fn missing(
    reference: &Reference,
    index: usize,
    calls: &[ToolCall],
    window: &Range<usize>,
) -> Mismatch {
    let Range { start, end } = *window;
    let name = quoted(&reference.name);
    let nearest = calls
        .iter()
        .enumerate()
        .take(end)
        .skip(start)
        .find(|(_, call)| call.name == reference.name);
    let searched = if end < calls.len() {
        sentence!("from call {start} on, before call {end}")
    } else {
        sentence!("from call {start} on")
    };
    let Some((place, call)) = nearest else {
        let not_found = sentence!("expected call {index}, {name}, was not found");
        let reason = if start >= calls.len() {
            let calls = counted(count(calls.len()), "call");
            sentence!("{not_found}: the run ends before it, with {calls}")
        } else {
            sentence!("{not_found} {searched}")
        };
        return Mismatch::new(Some(index), None, Vec::new(), reason);
    };
    let (diffs, words) = reference.difference(call);
    let reason = sentence!(
        "no call {searched} fits expected call {index}, {name}: call {place} is one, but {words}"
    );
    Mismatch::new(Some(index), Some(place), diffs, reason)
}

// As many expected calls as possible that occur in order among the recorded ones: a longest common
// subsequence, where fitting takes the place of being equal.
//
// Only pairs that fit are looked at (Hunt and Szymanski, *A Fast Algorithm for Computing Longest
// Common Subsequences*, 1977), from the last expected call to the first: for each length the latest
// call is kept at which so many can begin. Of several ways one is taken that has the earliest
// expected calls.

/// Pairs of an expected and a recorded call that are looked at; about a second.
pub const ALIGNMENT_PAIRS_MAX: usize = 5_000_000;

/// Which of so many expected calls are found in order, as many as possible; `fitting` says, ascending,
/// at which places each of them may be. `None` beyond [`ALIGNMENT_PAIRS_MAX`].
pub fn longest<'a>(expected: usize, fitting: impl Fn(usize) -> &'a [usize]) -> Option<Vec<bool>> {
    let pairs = (0..expected)
        .map(|index| fitting(index).len())
        .fold(0, usize::saturating_add);
    if pairs > ALIGNMENT_PAIRS_MAX {
        return None;
    }
    // An expected call at a place, and the link of what comes after it.
    let mut links: Vec<(u32, Option<u32>)> = Vec::new();
    // The latest place at which so many, and one more, can begin, descending; and the link there.
    let mut heads: Vec<(usize, u32)> = Vec::new();
    for index in (0..expected).rev() {
        // Ascending: a place never follows another one of the same expected call.
        for &place in fitting(index) {
            let length = heads.partition_point(|(head, _)| *head > place);
            let after = heads[..length].last().map(|(_, link)| *link);
            let link = u32::try_from(links.len()).ok()?;
            links.push((u32::try_from(index).ok()?, after));
            match heads.get_mut(length) {
                Some(head) => *head = (place, link),
                None => heads.push((place, link)),
            }
        }
    }
    let mut chosen = vec![false; expected];
    let mut next = heads.last().map(|(_, link)| *link);
    while let Some(link) = next {
        let (index, after) = links[usize::try_from(link).ok()?];
        chosen[usize::try_from(index).ok()?] = true;
        next = after;
    }
    Some(chosen)
}

#[cfg(test)]
mod alignment_tests {
    use proptest::prelude::*;

    use super::*;

    fn chosen(fitting: &[Vec<usize>]) -> Vec<bool> {
        longest(fitting.len(), |index| &fitting[index]).unwrap()
    }

    /// The most that can be found, by trying everything.
    fn most(fitting: &[Vec<usize>], start: usize) -> usize {
        let Some((first, rest)) = fitting.split_first() else {
            return 0;
        };
        let found = first.iter().filter(|place| **place >= start);
        let with = found.map(|place| 1 + most(rest, place + 1)).max();
        with.unwrap_or(0).max(most(rest, start))
    }

    #[test]
    fn the_most_are_chosen_the_earliest_of_several() {
        assert_eq!(chosen(&[]), Vec::<bool>::new());
        assert_eq!(chosen(&[vec![2], vec![0], vec![1]]), [false, true, true]);
        assert_eq!(chosen(&[vec![1], vec![0]]), [true, false]);
        assert_eq!(chosen(&[vec![0, 1], vec![0, 1]]), [true, true]);
        assert_eq!(chosen(&[vec![0], vec![0]]), [true, false]);
    }

    #[test]
    fn beyond_the_limit_nothing_is_said() {
        let many: Vec<usize> = (0..1_001).collect();
        assert!(longest(4_995, |_| &many).is_some());
        assert!(longest(4_996, |_| &many).is_none());
    }

    proptest! {
        #[test]
        fn as_many_as_by_trying_everything(
            fitting in prop::collection::vec(prop::collection::btree_set(0_usize..7, 0..5), 0..6),
        ) {
            let fitting: Vec<Vec<usize>> = fitting.into_iter().map(|places| places.into_iter().collect()).collect();
            let chosen = chosen(&fitting);
            prop_assert_eq!(chosen.iter().filter(|is| **is).count(), most(&fitting, 0));
            // Those that are chosen can be found one after the other.
            let mut start = 0;
            for (places, is_chosen) in fitting.iter().zip(chosen) {
                if is_chosen {
                    let place = places.iter().find(|place| **place >= start);
                    start = place.expect("it is there") + 1;
                }
            }
        }
    }
}
