//! Which gates there are, and what came of each: what a report tells only of those that did not hold.

use std::collections::BTreeMap;

use crate::agent::{Expected, METRICS, Metric, Scope};
use crate::gate::{Expectation, GateFailure, Gates, Matcher, ScoreError, ScoreReport};
use serde_json::Value;

/// A gate, and what came of it.
#[derive(Debug, Clone, Default)]
pub struct Judged<'a> {
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
    matchers: Vec<&'a Matcher>,
}

/// Every gate, and what could not be judged besides.
#[derive(Debug, Clone, Default)]
pub struct Verdicts<'a> {
    /// The gates, each once.
    pub gates: Vec<Judged<'a>>,
    /// What is about no gate: a trace without runs, a block that gates nothing.
    pub other_errors: Vec<&'a ScoreError>,
}

/// What came of every gate.
pub fn judge<'a>(gates: Option<&'a Gates>, report: &'a ScoreReport) -> Verdicts<'a> {
    let mut finder = Finder::default();
    if let Some(gates) = gates {
        finder.add_gates(gates);
    }
    let mut left: BTreeMap<(&str, Option<usize>), usize> = BTreeMap::new();
    for failure in &report.failures {
        *left.entry((&failure.target, failure.run)).or_default() += 1;
    }
    for failure in &report.failures {
        let left = left.entry((&failure.target, failure.run)).or_default();
        let place = finder.place_of(failure, *left, report);
        *left = left.saturating_sub(1);
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
    Verdicts {
        gates: finder.gates,
        other_errors,
    }
}

/// Finds gates by what they are about.
#[derive(Default)]
struct Finder<'a> {
    gates: Vec<Judged<'a>>,
    by_target: BTreeMap<&'a str, usize>,
    defaults: BTreeMap<&'a str, usize>,
}

impl<'a> Finder<'a> {
    fn add_gates(&mut self, gates: &'a Gates) {
        for metric in METRICS {
            match (metric.expectations)(gates) {
                Some(Expected::Own(expectations)) => self.add_all(metric.name, expectations),
                Some(Expected::ByDefault) if metric.default_gate.is_some() => {
                    self.defaults.insert(metric.name, self.gates.len());
                    self.gates.push(Judged {
                        block: metric.name,
                        of_each_run: is_of_each_run(metric),
                        ..Judged::default()
                    });
                }
                Some(Expected::ByDefault) | None => {}
            }
            // It is a gate besides the others of its block.
            let narrative = gates.narrative.as_ref();
            let is_limited = narrative.is_some_and(|block| block.max_divergence_score.is_some());
            if metric.name == "narrative" && is_limited {
                self.gate_of("narrative", "narrative.divergence_score");
            }
        }
        self.add_all("expect", &gates.expect);
    }

    fn add_all(&mut self, block: &'a str, expectations: &'a [Expectation]) {
        for expectation in expectations {
            let place = self.gate_of(block, &expectation.target);
            if let Some(gate) = self.gates.get_mut(place) {
                gate.matchers.push(&expectation.matcher);
            }
        }
    }

    /// The gate of a target, which is added where there is none.
    fn gate_of(&mut self, block: &'a str, target: &'a str) -> usize {
        let next = self.gates.len();
        let place = *self.by_target.entry(target).or_insert(next);
        if place == next {
            let targets = METRICS.iter().flat_map(|metric| metric.targets);
            let known = targets.filter(|known| is_into(known.name, target));
            let scope = known.map(|known| known.scope).next();
            self.gates.push(Judged {
                block,
                target: Some(target),
                of_each_run: scope != Some(Scope::Overall),
                ..Judged::default()
            });
        }
        place
    }

    /// The one gate that a failure is of. Where an expectation and a default gate are about the same
    /// target, the failures of the default gate come first; `left` are those that are still to come,
    /// this one with them.
    fn place_of(&mut self, failure: &'a GateFailure, left: usize, report: &ScoreReport) -> usize {
        let block = block_of(&failure.target);
        let default = self.defaults.get(block).copied();
        let Some(default) = default else {
            return self.gate_of(block, &failure.target);
        };
        let Some(place) = self.by_target.get(failure.target.as_str()).copied() else {
            return default;
        };
        let matchers = self.gates.get(place).map(|gate| gate.matchers.as_slice());
        match matchers {
            Some(matchers) if !matchers.is_empty() => {
                let value = value_of(report, failure);
                let is_missed = |matcher: &&&Matcher| value.is_none_or(|it| !matcher.is_match(it));
                let missed = matchers.iter().filter(is_missed).count();
                if left > missed { default } else { place }
            }
            _ => place,
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
        let gates = self.gates.iter().enumerate();
        gates
            .filter(|(_, gate)| gate.block == block)
            .map(|(place, _)| place)
            .collect()
    }
}

/// The value that a failure is about.
fn value_of<'r>(report: &'r ScoreReport, failure: &GateFailure) -> Option<&'r Value> {
    match failure.run {
        Some(run) => report.runs.get(run)?.targets.get(&failure.target),
        None => report.targets.get(&failure.target),
    }
}

/// The name of the metric that a target is of; what it begins with, where it is of none.
fn block_of(target: &str) -> &str {
    let is_of = |metric: &&Metric| {
        let mut targets = metric.targets.iter();
        metric.name == target || targets.any(|known| is_into(known.name, target))
    };
    let first = || target.split(['.', '[']).next().unwrap_or(target);
    let metric = METRICS.iter().find(is_of);
    metric.map_or_else(first, |metric| metric.name)
}

/// Whether a target is this one, or leads into its value.
fn is_into(known: &str, target: &str) -> bool {
    let rest = target.strip_prefix(known);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn is_of_each_run(metric: &Metric) -> bool {
    let mut targets = metric.targets.iter();
    targets.any(|target| target.scope != Scope::Overall)
}

impl Judged<'_> {
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

impl Verdicts<'_> {
    /// How many gates do not hold.
    pub fn failed(&self) -> usize {
        self.gates.iter().filter(|gate| gate.has_failed()).count()
    }

    /// How many gates cannot be judged.
    pub fn unjudged(&self) -> usize {
        self.gates.iter().filter(|gate| gate.is_unjudged()).count()
    }
}
