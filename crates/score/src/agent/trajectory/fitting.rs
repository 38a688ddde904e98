//! Which recorded calls fit which expected ones, without comparing everything with everything.
//!
//! Only calls of the same tool are compared. Of calls that nothing tells apart one is looked into,
//! once; expected calls that demand the same count as one. Arguments that must equal a value are
//! looked up, not compared. What is left, each alternative of a `one_of` for itself, is bounded by
//! [`COMPARISONS_MAX`].

use std::collections::BTreeMap;

use mcprove_trace::ToolCall;

use super::reference::{Doubt, Reference};
use super::shape::{Arguments, Shape};

/// How often arguments of one run may be compared with expected ones.
pub const COMPARISONS_MAX: usize = 10_000_000;

/// Recorded calls of one tool that nothing tells apart.
pub struct CallKind<'a> {
    pub call: &'a ToolCall,
    pub places: Vec<usize>,
}

/// The places of the calls of each tool, from `start` on.
pub fn places_by_name(calls: &[ToolCall], start: usize) -> BTreeMap<&str, Vec<usize>> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, call) in calls.iter().enumerate().skip(start) {
        places.entry(&call.name).or_default().push(place);
    }
    places
}

/// The calls at these places, those together that have the same server and arguments, in the order
/// of the first ones.
pub fn kinds_of<'a>(calls: &'a [ToolCall], places: &[usize]) -> Vec<CallKind<'a>> {
    let mut known: BTreeMap<(Option<&str>, &str), usize> = BTreeMap::new();
    let mut kinds: Vec<CallKind<'a>> = Vec::new();
    for place in places {
        let Some(call) = calls.get(*place) else {
            continue;
        };
        let key = (call.server.as_deref(), call.args.text());
        let kind = *known.entry(key).or_insert(kinds.len());
        match kinds.get_mut(kind) {
            Some(kind) => kind.places.push(*place),
            None => kinds.push(CallKind {
                call,
                places: vec![*place],
            }),
        }
    }
    kinds
}

/// More comparisons would be needed than [`COMPARISONS_MAX`].
#[derive(Debug)]
pub struct TooMany;

/// How many comparisons are left.
pub struct Comparisons(usize);

impl Comparisons {
    pub fn new() -> Self {
        Self(COMPARISONS_MAX)
    }

    pub fn take(&mut self, count: usize) -> Result<(), TooMany> {
        self.0 = self.0.checked_sub(count).ok_or(TooMany)?;
        Ok(())
    }
}

/// An expected call that still looks for recorded ones.
struct Open<'a> {
    place: usize,
    reference: &'a Reference,
    found: usize,
}

/// For each reference the kinds of calls that fit it, of one tool. A reference that has found
/// `enough` calls is not compared any more: with as many calls as there are references it is sure to
/// get one, whatever the others take.
pub fn fitting(
    references: &[&Reference],
    kinds: &[CallKind<'_>],
    enough: usize,
    doubt: Doubt,
    comparisons: &mut Comparisons,
) -> Result<Vec<Vec<usize>>, TooMany> {
    let mut fits = vec![Vec::new(); references.len()];
    let mut note = |reference: usize, kind: usize| {
        if let Some(kinds) = fits.get_mut(reference) {
            kinds.push(kind);
        }
    };
    let mut equal: BTreeMap<&str, Vec<Open<'_>>> = BTreeMap::new();
    let mut others = Vec::new();
    for (place, &reference) in references.iter().enumerate() {
        let open = Open {
            place,
            reference,
            found: 0,
        };
        match &*reference.shape {
            Shape::Equal(_, text) => equal.entry(text).or_default().push(open),
            Shape::Free | Shape::AnyOf(_) => others.push(open),
        }
    }
    for (place, kind) in kinds.iter().enumerate() {
        if equal.is_empty() && others.is_empty() {
            break;
        }
        let costs = others.iter().map(|open| open.reference.shape.comparisons());
        // One for the server of each.
        comparisons.take(others.len().saturating_add(costs.sum::<usize>()))?;
        let arguments = Arguments::of(&kind.call.args);
        others.retain_mut(|open| {
            let reference = open.reference;
            let server = reference.fit_server(kind.call);
            if doubt.settle(server) && doubt.settle(reference.shape.fit(&arguments)) {
                note(open.place, place);
                open.found = open.found.saturating_add(kind.places.len());
            }
            open.found < enough
        });
        let equal: Vec<&Open<'_>> = match arguments.canonical() {
            Some(text) => equal.get(text.as_str()).into_iter().flatten().collect(),
            None if doubt == Doubt::Fits => equal.values().flatten().collect(),
            None => Vec::new(),
        };
        comparisons.take(equal.len())?;
        for open in equal {
            if doubt.settle(open.reference.fit_server(kind.call)) {
                note(open.place, place);
            }
        }
    }
    Ok(fits)
}
