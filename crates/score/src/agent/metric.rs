//! The shape of every metric: what it is called, what can be gated, how it is computed.

use mcprove_settings::phrase;
use mcprove_trace::AgentTrace;

use crate::gate::{Expectation, Gates, ScoreError, Scorecard};

/// A metric over agent traces: a block of a gates file of the same name.
pub struct Metric {
    /// The name of the block.
    pub name: &'static str,
    /// What it tells, in one line.
    pub explanation: &'static str,
    /// What can be gated.
    pub targets: &'static [Target],
    /// Computes the targets and puts them on the card. A metric that needs expectations does
    /// nothing without its block.
    pub score: fn(&Case<'_>, &mut Scorecard) -> Result<(), ScoreError>,
    /// What its block expects of the targets; `None` without the block.
    pub expectations: for<'a> fn(&'a Gates) -> Option<Expected<'a>>,
    /// Applies the default gate, for a block without expectations of its own; `None` for a metric
    /// that has no default gate.
    pub default_gate: Option<Gate>,
    /// Applies what a block demands besides its expectations, default or own.
    pub other_gates: Gate,
    /// Runs that there must be for a gate on what is a property of all of them.
    pub runs_min: usize,
}

/// Puts what does not hold on the card.
pub type Gate = fn(&Case<'_>, &mut Scorecard) -> Result<(), ScoreError>;

/// What is scored, against what.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The runs.
    pub trace: &'a AgentTrace,
    /// What they are held to.
    pub gates: &'a Gates,
}

/// What a block expects of its targets.
#[derive(Debug, Clone, Copy)]
pub enum Expected<'a> {
    /// It does not say: the default gate holds.
    ByDefault,
    /// These, instead of the default gate.
    Own(&'a [Expectation]),
}

impl<'a> Expected<'a> {
    /// What the `expect` of a block comes to.
    pub fn of(expect: Option<&'a [Expectation]>) -> Self {
        expect.map_or(Self::ByDefault, Self::Own)
    }
}

/// Something that can be gated.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name: `stability.score`.
    pub name: &'static str,
    /// What it means, in one line.
    pub explanation: &'static str,
    /// Whether each run has it, or all together.
    pub scope: Scope,
}

/// What a target is a property of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Of all runs together.
    Overall,
    /// Of each run; the lowest value is the worst.
    RunLowest,
    /// Of each run; the highest value is the worst.
    RunHighest,
}

/// For a metric without gates besides its expectations.
pub(crate) fn no_other_gates(_: &Case<'_>, _: &mut Scorecard) -> Result<(), ScoreError> {
    Ok(())
}

/// What one metric tells of one run, before the rest is only counted: the others have something to
/// tell too.
const FOUND_PER_METRIC: usize = 5;

/// Tells what a metric found in one run: the first few in a sentence each, then how many more there
/// are of `count`.
pub(super) fn tell(
    card: &mut Scorecard,
    run: usize,
    count: u64,
    noun: &str,
    found: impl IntoIterator<Item = String>,
) {
    let mut told = 0;
    for words in found.into_iter().take(FOUND_PER_METRIC) {
        card.found(run, phrase::sentence(&words));
        told += 1;
    }
    if count > told {
        let more = phrase::count(count - told, &format!("more {noun}"));
        card.found(run, phrase::sentence(&format!("and {more}")));
    }
}
