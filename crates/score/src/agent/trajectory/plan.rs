//! Expected calls, ready to be compared with, and which recorded calls fit them, without comparing
//! everything with everything.
//!
//! Only calls of the same tool are compared. Of calls that nothing tells apart one is looked into,
//! once; expected calls that demand the same count as one. Arguments that must equal a value are
//! looked up, not compared. What is left, each alternative of a `one_of` for itself, is bounded by
//! [`COMPARISONS_MAX`].

use std::collections::btree_map::Entry;
use std::rc::Rc;

use crate::agent::tool_name::{SEPARATOR, tools_of};

use super::prelude::*;

/// How often arguments of one run may be compared with expected ones.
pub const COMPARISONS_MAX: usize = 10_000_000;

/// An expected call.
#[derive(Debug, Clone)]
pub struct Reference {
    pub name: String,
    server: Option<String>,
    /// Shared by all that demand the same.
    pub shape: Rc<Shape>,
    /// Equal for shapes that demand the same.
    demand: usize,
}

/// All expected calls of a block.
#[derive(Debug)]
pub struct Plan {
    pub references: Vec<Reference>,
    /// For each tool the places of its expected calls, those together that demand the same.
    pub tools: BTreeMap<String, Vec<Vec<usize>>>,
}

impl Plan {
    /// Compiles every expected call, so that what is wrong with one is an error whatever was
    /// recorded.
    pub fn compile(calls: &[ExpectedCall]) -> Result<Self, TrajectoryError> {
        let mut references = Vec::with_capacity(calls.len());
        let mut shapes: BTreeMap<String, (usize, Rc<Shape>)> = BTreeMap::new();
        for (place, call) in calls.iter().enumerate() {
            let next = shapes.len();
            let (demand, shape) = match shapes.entry(call.args.to_value().to_string()) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(new) => new.insert((next, Rc::new(compile(place, call)?))).clone(),
            };
            references.push(Reference {
                name: call.name.clone(),
                server: call.server.clone(),
                shape,
                demand,
            });
        }
        Ok(Self::of(references))
    }

    fn of(references: Vec<Reference>) -> Self {
        let mut kinds: BTreeMap<(&str, Option<&str>, usize), Vec<usize>> = BTreeMap::new();
        for (place, reference) in references.iter().enumerate() {
            let server = reference.server.as_deref();
            let kind = (reference.name.as_str(), server, reference.demand);
            kinds.entry(kind).or_default().push(place);
        }
        let mut tools: BTreeMap<String, Vec<Vec<usize>>> = BTreeMap::new();
        for ((name, ..), places) in kinds {
            tools.entry(name.to_owned()).or_default().push(places);
        }
        Self { references, tools }
    }

    /// The plan with the server and the tool apart where a name has both, by what was recorded;
    /// `None` where no name has.
    pub fn resolve(&self, calls: &[ToolCall]) -> Option<Self> {
        if !self.tools.keys().any(|name| name.contains(SEPARATOR)) {
            return None;
        }
        let tools = tools_of(calls);
        let mut references = self.references.clone();
        for reference in &mut references {
            let split = ToolName::exact(&reference.name).split_by(&tools);
            if let Some((server, tool)) = split
                && reference.server.as_deref().is_none_or(|it| it == server)
            {
                reference.server = Some(server.to_owned());
                reference.name = tool.to_owned();
            }
        }
        Some(Self::of(references))
    }

    /// The first recorded call of which nobody can tell whether it is one of the expected ones, with
    /// that one.
    pub fn first_doubt(&self, calls: &[ToolCall]) -> Option<(usize, usize)> {
        let mut settled = BTreeSet::new();
        let mut unsettled = calls.iter().enumerate().filter(|(_, call)| {
            let kind = (&call.name, &call.server, call.args.is_null());
            (call.args.is_null() || call.server.is_none()) && settled.insert(kind)
        });
        unsettled.find_map(|(place, call)| {
            let doubtful = self
                .tools
                .get(&call.name)
                .into_iter()
                .flatten()
                .map(|places| places[0])
                .filter(|index| self.references[*index].fit(call) == Fit::Unknown);
            Some((place, doubtful.min()?))
        })
    }

    /// The expected call at the first of these places.
    pub fn first_of(&self, places: &[usize]) -> &Reference {
        &self.references[places[0]]
    }
}

fn compile(place: usize, call: &ExpectedCall) -> Result<Shape, TrajectoryError> {
    Shape::compile(&call.args).map_err(|error| TrajectoryError::Malformed {
        expected_index: place,
        name: call.name.clone(),
        message: error.sentence().edited(phrase::text),
        hint: error.hint,
    })
}

impl Reference {
    /// Whether every call of the tool fits.
    pub fn is_free(&self) -> bool {
        self.server.is_none() && self.shape.is_free
    }

    /// Whether a call fits, as far as the trace tells.
    pub fn fit(&self, call: &ToolCall) -> Fit {
        if self.name != call.name {
            return Fit::No;
        }
        match self.fit_server(call) {
            Fit::No => Fit::No,
            server => server.min(self.shape.fit(arguments_of(call).as_ref())),
        }
    }

    /// Whether a call went to the right server, where that matters.
    pub fn fit_server(&self, call: &ToolCall) -> Fit {
        match (&self.server, &call.server) {
            (None, _) => Fit::Yes,
            (Some(_), None) => Fit::Unknown,
            (Some(wanted), Some(server)) => Fit::of(wanted == server),
        }
    }

    /// How a call differs that does not fit, and the same in a few words.
    pub fn difference(&self, call: &ToolCall) -> (Vec<Difference>, Message) {
        if self.name != call.name {
            let difference = text_difference("name", &self.name, Some(&call.name));
            return (vec![difference], sentence!("it is {}", quoted(&call.name)));
        }
        if let Some(server) = &self.server
            && self.fit_server(call) != Fit::Yes
        {
            let wanted = quoted(server);
            let words = match &call.server {
                Some(other) => {
                    let other = quoted(other);
                    sentence!("it went to the server {other}, not to {wanted}")
                }
                None => sentence!("the trace does not have its server, which must be {wanted}"),
            };
            let difference = text_difference("server", server, call.server.as_deref());
            return (vec![difference], words);
        }
        let Some(arguments) = arguments_of(call) else {
            let words = "the trace does not have its arguments".into();
            return (Vec::new(), words);
        };
        let differences = self.shape.differences(&arguments);
        let first = differences.first().map(|first| first.message.clone());
        let first = first.unwrap_or_default();
        let words = match self.shape.alternatives() {
            1 => sentence!("its arguments differ: {first}"),
            more => sentence!("its arguments fit none of {more} alternatives: {first}"),
        };
        (differences, words)
    }
}

/// A difference of a name.
fn text_difference(path: &str, expected: &str, actual: Option<&str>) -> Difference {
    let got = actual.map_or_else(|| "nothing".into(), quoted);
    Difference {
        expected: json!(expected),
        actual: json!(actual),
        path: path.into(),
        message: sentence!("expected {}, got {got}", quoted(expected)),
    }
}

/// Recorded calls of one tool that nothing tells apart.
pub struct CallKind<'a> {
    call: &'a ToolCall,
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
    for &place in places {
        let call = &calls[place];
        let key = (call.server.as_deref(), call.args.text());
        let kind = *known.entry(key).or_insert(kinds.len());
        match kinds.get_mut(kind) {
            Some(kind) => kind.places.push(place),
            None => kinds.push(CallKind {
                call,
                places: vec![place],
            }),
        }
    }
    kinds
}

/// Takes so many comparisons from what is left of [`COMPARISONS_MAX`]; `None` where more would be needed.
pub fn spend(left: &mut usize, comparisons: usize) -> Option<()> {
    *left = left.checked_sub(comparisons)?;
    Some(())
}

/// For each reference the kinds of calls that fit it at least so well, of one tool. A reference that has found
/// `enough` calls is not compared any more: with as many calls as there are references it is sure to
/// get one, whatever the others take.
pub fn fitting(
    references: &[&Reference],
    kinds: &[CallKind<'_>],
    enough: usize,
    least: Fit,
    comparisons: &mut usize,
) -> Option<Vec<Vec<usize>>> {
    let mut fits = vec![Vec::new(); references.len()];
    let mut found = vec![0; references.len()];
    let mut equal: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    // Those that still look for calls.
    let mut others = Vec::new();
    for (place, reference) in references.iter().enumerate() {
        match reference.shape.only_value() {
            Some(text) => equal.entry(text).or_default().push(place),
            None => others.push(place),
        }
    }
    for (kind, CallKind { call, places }) in kinds.iter().enumerate() {
        if equal.is_empty() && others.is_empty() {
            break;
        }
        let costs = others.iter().map(|place| references[*place].shape.cost());
        // One for the server of each.
        spend(comparisons, others.len() + costs.sum::<usize>())?;
        let arguments = arguments_of(call);
        others.retain(|&place| {
            let reference = references[place];
            let shape = || reference.shape.fit(arguments.as_ref());
            if reference.fit_server(call) >= least && shape() >= least {
                fits[place].push(kind);
                found[place] += places.len();
            }
            found[place] < enough
        });
        let equal: Vec<usize> = match arguments {
            Some(value) => equal.get(canonical::text(&value).as_str()).cloned(),
            None if least < Fit::Yes => Some(equal.values().flatten().copied().collect()),
            None => None,
        }
        .unwrap_or_default();
        spend(comparisons, equal.len())?;
        for place in equal {
            if references[place].fit_server(call) >= least {
                fits[place].push(kind);
            }
        }
    }
    Some(fits)
}
