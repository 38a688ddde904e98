//! Which gates there are, and the outcome of each: what a report tells only of those that did not hold.

use crate::prelude::*;

/// A gate, and its outcome.
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

/// The outcome of every gate.
pub fn gate_results<'a>(gates: Option<&'a Gates>, report: &'a ScoreReport) -> GateResults<'a> {
    let mut results = GateResults::default();
    for block in gates.into_iter().flat_map(Gates::blocks) {
        let name = block.about.name;
        if block.is_default() {
            let mut targets = block.about.targets.iter();
            results.gates.push(GateResult {
                block: name,
                of_each_run: targets.any(|target| target.scope != Scope::Overall),
                ..GateResult::default()
            });
        }
        let expected = block.expect.iter().flatten().map(|it| it.target.as_str());
        for target in expected.chain(block.limits.iter().copied()) {
            results.gate_of(name, target);
        }
    }
    for expectation in gates.into_iter().flat_map(|gates| &gates.expect) {
        results.gate_of("expect", &expectation.target);
    }
    for failure in &report.failures {
        results
            .gate_of_failure(failure)
            .failures
            .entry(failure.run)
            .or_default()
            .push(failure);
    }
    for error in &report.errors {
        let mut is_told = false;
        for gate in results.gates_of_error(error) {
            gate.errors.entry(error.run).or_default().push(error);
            is_told = true;
        }
        if !is_told {
            results.other_errors.push(error);
        }
    }
    results
}

impl<'a> GateResults<'a> {
    /// The gate of a target, which is added where there is none.
    fn gate_of(&mut self, block: &'a str, target: &'a str) -> &mut GateResult<'a> {
        let place = self
            .gates
            .iter()
            .position(|gate| gate.target == Some(target))
            .unwrap_or_else(|| {
                let known = metrics()
                    .flat_map(|metric| metric.targets)
                    .find(|known| known.leads_to(target));
                self.gates.push(GateResult {
                    block,
                    target: Some(target),
                    of_each_run: known.is_none_or(|known| known.scope != Scope::Overall),
                    ..GateResult::default()
                });
                self.gates.len() - 1
            });
        &mut self.gates[place]
    }

    /// The gate that a failure is of. One that was read from a file does not say it: there the target is that
    /// of an expectation, or belongs to the default gate of its block.
    fn gate_of_failure(&mut self, failure: &'a GateFailure) -> &mut GateResult<'a> {
        let target = failure.target.as_str();
        let block = block_of(target);
        let default = match &failure.gate {
            Some(GateId::Default(block)) => Some(*block),
            Some(GateId::Target(_)) => None,
            None if self.gates.iter().any(|gate| gate.target == Some(target)) => None,
            None => Some(block),
        };
        let is_default =
            |gate: &GateResult<'_>| gate.target.is_none() && default == Some(gate.block);
        match self.gates.iter().position(is_default) {
            Some(place) => &mut self.gates[place],
            None => self.gate_of(block, target),
        }
    }

    /// The gates that an error is about: that of its target, else all of its block.
    fn gates_of_error(&mut self, error: &ScoreError) -> impl Iterator<Item = &mut GateResult<'a>> {
        let target = error.target.as_deref();
        let is_gated = target.is_some() && self.gates.iter().any(|gate| gate.target == target);
        let block = target.map(block_of);
        self.gates.iter_mut().filter(move |gate| {
            if is_gated {
                gate.target == target
            } else {
                Some(gate.block) == block
            }
        })
    }

    /// How many gates do not hold.
    pub fn failed(&self) -> usize {
        self.gates.iter().filter(|gate| gate.has_failed()).count()
    }

    /// How many gates cannot be judged.
    pub fn unjudged(&self) -> usize {
        self.gates.iter().filter(|gate| gate.is_unjudged()).count()
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
    pub fn full_name(&self) -> Message {
        match self.target {
            Some(target) => target.to_owned().into(),
            None => sentence!("the default gate of `{}`", self.block),
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
