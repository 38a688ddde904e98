//! Expected calls, ready to be compared with, and how a recorded call differs from one.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use mcprove_settings::phrase;
use mcprove_trace::ToolCall;
use serde_json::{Value, json};

use super::shape::{Arguments, Shape};
use super::{ExpectedCall, TrajectoryError};
use crate::agent::tool_name::{Fit, SEPARATOR, ToolName, tools_of};
use crate::gate::Difference;

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

/// How what the trace does not say is taken: its arguments, or its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It fits.
    Fits,
    /// It differs.
    Differs,
}

impl Doubt {
    /// Whether something fits, taken so.
    pub fn settle(self, fit: Fit) -> bool {
        match fit {
            Fit::Yes => true,
            Fit::No => false,
            Fit::Unknown => self == Self::Fits,
        }
    }
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
        let names = self.tools.keys();
        if !names.into_iter().any(|name| name.contains(SEPARATOR)) {
            return None;
        }
        let tools = tools_of(calls);
        let mut references = self.references.clone();
        for reference in &mut references {
            let split = ToolName::exact(&reference.name).split_by(&tools);
            let Some((server, tool)) = split else {
                continue;
            };
            if reference
                .server
                .as_deref()
                .is_none_or(|given| given == server)
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
        let unknown = calls
            .iter()
            .enumerate()
            .filter(|(_, call)| call.args.is_null() || call.server.is_none());
        for (place, call) in unknown {
            let kind = (&call.name, &call.server, call.args.is_null());
            if !settled.insert(kind) {
                continue;
            }
            let doubtful = self
                .tools
                .get(&call.name)
                .into_iter()
                .flatten()
                .filter_map(|places| places.first())
                .copied()
                .filter(|index| {
                    let reference = self.references.get(*index);
                    reference.is_some_and(|reference| reference.fit(call) == Fit::Unknown)
                });
            if let Some(index) = doubtful.min() {
                return Some((place, index));
            }
        }
        None
    }

    /// The expected call at the first of these places.
    pub fn first_of(&self, places: &[usize]) -> Option<&Reference> {
        self.references.get(*places.first()?)
    }
}

fn compile(place: usize, call: &ExpectedCall) -> Result<Shape, TrajectoryError> {
    Shape::compile(&call.args).map_err(|error| TrajectoryError::Malformed {
        expected_index: place,
        name: call.name.clone(),
        message: phrase::text(&error.to_string()),
        hint: error.hint().to_owned(),
    })
}

impl Reference {
    /// Whether every call of the tool fits.
    pub fn is_free(&self) -> bool {
        self.server.is_none() && matches!(*self.shape, Shape::Free)
    }

    /// Whether a call fits, as far as the trace tells.
    pub fn fit(&self, call: &ToolCall) -> Fit {
        if self.name != call.name {
            return Fit::No;
        }
        match self.fit_server(call) {
            Fit::No => Fit::No,
            server => server.and(self.shape.fit(&Arguments::of(&call.args))),
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

    /// How a call differs, and the same in a few words; `None` if it fits.
    pub fn difference(&self, call: &ToolCall) -> Option<(Vec<Difference>, String)> {
        if self.name != call.name {
            let difference = text_difference("name", &self.name, Some(&call.name));
            let words = format!("it is {}", phrase::name(&call.name));
            return Some((vec![difference], words));
        }
        if let Some(server) = &self.server
            && self.fit_server(call) != Fit::Yes
        {
            let words = match &call.server {
                Some(other) => format!(
                    "it went to the server {}, not to {}",
                    phrase::name(other),
                    phrase::name(server)
                ),
                None => format!(
                    "the trace does not have its server, which must be {}",
                    phrase::name(server)
                ),
            };
            let difference = text_difference("server", server, call.server.as_deref());
            return Some((vec![difference], words));
        }
        let arguments = Arguments::of(&call.args);
        match self.shape.fit(&arguments) {
            Fit::Yes => return None,
            Fit::Unknown => {
                let words = "the trace does not have its arguments".to_owned();
                return Some((Vec::new(), words));
            }
            Fit::No => {}
        }
        let differences = self.shape.differences(&arguments);
        let first = differences
            .first()
            .map_or("", |first| first.message.as_str());
        let words = match self.shape.alternatives() {
            1 => format!("its arguments differ: {first}"),
            more => format!("its arguments fit none of {more} alternatives: {first}"),
        };
        Some((differences, words))
    }
}

/// A difference of a name.
fn text_difference(path: &str, expected: &str, actual: Option<&str>) -> Difference {
    let got = actual.map_or_else(|| "nothing".into(), phrase::name);
    Difference {
        expected: json!(expected),
        actual: actual.map_or(Value::Null, Value::from),
        path: path.into(),
        message: format!("expected {}, got {got}", phrase::name(expected)),
    }
}
