//! Which gates there are, and what came of each: what a report tells only of those that did not hold.

use super::{Expectation, GateBlock, GateFailure, GateId, Gates, ScoreReport};
use crate::agent::metrics;
use crate::prelude::*;

/// A gate, and what came of it.
#[derive(Debug, Clone, Default)]
pub struct GateResult<'a> {
    /// The block that gates it.
    pub block: &'a str,
    /// The target; `None` is the default gate of the block.
    pub target: Option<&'a str>,
    /// Whether each run is judged, or all of them together.
    pub of_each_run: bool,
    /// Where it does not hold, by run.
    pub failures: BTreeMap<Option<usize>, Vec<&'a GateFailure>>,
    /// Why it cannot be judged, by run.
    pub errors: BTreeMap<Option<usize>, Vec<&'a ScoreError>>,
}

/// Every gate, and what could not be judged besides.
#[derive(Debug, Clone, Default)]
pub struct GateResults<'a> {
    /// The gates, each once.
    pub gates: Vec<GateResult<'a>>,
    /// What is about no gate: a trace without runs, a block that gates nothing.
    pub other_errors: Vec<&'a ScoreError>,
}

/// What came of every gate.
pub fn gate_results<'a>(gates: Option<&'a Gates>, report: &'a ScoreReport) -> GateResults<'a> {
    let mut finder = Finder::default();
    if let Some(gates) = gates {
        finder.add_gates(gates);
    }
    for failure in &report.failures {
        let place = finder.place_of(failure);
        if let Some(gate) = finder.gates.get_mut(place) {
            gate.failures.entry(failure.run).or_default().push(failure);
        }
    }
    let mut other_errors = Vec::new();
    for error in &report.errors {
        let places = finder.places_of(error);
        if places.is_empty() {
            other_errors.push(error);
        }
        for place in places {
            if let Some(gate) = finder.gates.get_mut(place) {
                gate.errors.entry(error.run).or_default().push(error);
            }
        }
    }
    GateResults {
        gates: finder.gates,
        other_errors,
    }
}

/// Finds gates by what they are about.
#[derive(Default)]
struct Finder<'a> {
    gates: Vec<GateResult<'a>>,
    by_target: BTreeMap<&'a str, usize>,
    defaults: BTreeMap<&'a str, usize>,
}

impl<'a> Finder<'a> {
    fn add_gates(&mut self, gates: &'a Gates) {
        for block in gates.blocks() {
            if block.is_default() {
                self.add_default(block);
            }
            self.add_all(
                block.about.name,
                block.expect.as_deref().unwrap_or_default(),
            );
            for target in block.limits {
                self.gate_of(block.about.name, target);
            }
        }
        self.add_all("expect", &gates.expect);
    }

    fn add_default(&mut self, block: &'a GateBlock) {
        let name = block.about.name;
        let mut targets = block.about.targets.iter();
        self.defaults.insert(name, self.gates.len());
        self.gates.push(GateResult {
            block: name,
            of_each_run: targets.any(|target| target.scope != Scope::Overall),
            ..GateResult::default()
        });
    }

    fn add_all(&mut self, block: &'a str, expectations: &'a [Expectation]) {
        for expectation in expectations {
            self.gate_of(block, &expectation.target);
        }
    }

    /// The gate of a target, which is added where there is none.
    fn gate_of(&mut self, block: &'a str, target: &'a str) -> usize {
        let next = self.gates.len();
        let place = *self.by_target.entry(target).or_insert(next);
        if place == next {
            let known = metrics()
                .flat_map(|metric| metric.targets)
                .find(|known| known.leads_to(target));
            self.gates.push(GateResult {
                block,
                target: Some(target),
                of_each_run: known.is_none_or(|known| known.scope != Scope::Overall),
                ..GateResult::default()
            });
        }
        place
    }

    /// The gate that a failure is of. One that was read from a file does not say it: there the target is that
    /// of an expectation, or belongs to the default gate of its block.
    fn place_of(&mut self, failure: &'a GateFailure) -> usize {
        let block = block_of(&failure.target);
        let default = match &failure.gate {
            Some(GateId::Default(block)) => self.defaults.get(block),
            Some(GateId::Target(_)) => None,
            None => {
                let is_expected = self.by_target.contains_key(failure.target.as_str());
                self.defaults.get(block).filter(|_| !is_expected)
            }
        };
        match default {
            Some(place) => *place,
            None => self.gate_of(block, &failure.target),
        }
    }

    /// The gates that an error is about: that of its target, else all of its block.
    fn places_of(&self, error: &ScoreError) -> Vec<usize> {
        let Some(target) = error.target.as_deref() else {
            return Vec::new();
        };
        if let Some(place) = self.by_target.get(target) {
            return vec![*place];
        }
        let block = block_of(target);
        self.gates
            .iter()
            .enumerate()
            .filter(|(_, gate)| gate.block == block)
            .map(|(place, _)| place)
            .collect()
    }
}

/// The name of the metric that a target is of; what it begins with, where it is of none.
fn block_of(target: &str) -> &str {
    let first = || target.split(['.', '[']).next().unwrap_or(target);
    metrics()
        .find(|metric| metric.name == target || metric.has_target(target))
        .map_or_else(first, |metric| metric.name)
}

impl GateResult<'_> {
    /// What it is called: the target, or `default gate`.
    pub fn name(&self) -> &str {
        self.target.unwrap_or("default gate")
    }

    /// What it is called where its block is not told.
    pub fn full_name(&self) -> String {
        match self.target {
            Some(target) => target.to_owned(),
            None => format!("the default gate of `{}`", self.block),
        }
    }

    /// Whether it does not hold in some run.
    pub fn has_failed(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Whether nothing is known against it, and yet it cannot be judged.
    pub fn is_unjudged(&self) -> bool {
        !self.has_failed() && !self.errors.is_empty()
    }
}

impl GateResults<'_> {
    /// How many gates do not hold.
    pub fn failed(&self) -> usize {
        self.gates.iter().filter(|gate| gate.has_failed()).count()
    }

    /// How many gates cannot be judged.
    pub fn unjudged(&self) -> usize {
        self.gates.iter().filter(|gate| gate.is_unjudged()).count()
    }
}
