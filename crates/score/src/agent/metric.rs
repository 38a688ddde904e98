//! The shape of every metric: what it is called, what can be gated, what its block in a gates file holds, how
//! it is computed. [`Metric`] is what a metric implements, here or in another crate; [`AnyMetric`] is the
//! same without its types, for the registry.

use std::fmt::Debug;

use crate::gate::GateBlock;
use crate::prelude::*;

/// A metric over agent traces, and the block of the same name in a gates file.
pub trait Metric: Send + Sync {
    /// The settings of its block, besides `expect`, which every block has; `()` where it has none.
    type Block: Debug + Default + Settings + Send + Sync + 'static;

    /// What it is called, and what can be gated.
    const ABOUT: About;

    /// Computes the targets of one run and puts them on the card. A metric that needs its block does nothing
    /// without it. What its gates would find is noted too: it counts where the block asks for it.
    fn score_run(
        &self,
        _run: &AgentRun,
        _case: &Case<'_, Self::Block>,
        _card: &mut RunCard<'_>,
    ) -> ScoreResult {
        Ok(())
    }

    /// The same of all runs: one after the other, unless the metric is about them together.
    fn score(&self, case: &Case<'_, Self::Block>, card: &mut Scorecard) -> ScoreResult {
        self.score_runs(case, card);
        Ok(())
    }

    /// Scores one run after the other; what is wrong with one is an error of it.
    fn score_runs(&self, case: &Case<'_, Self::Block>, card: &mut Scorecard) {
        for (index, run) in case.trace.runs.iter().enumerate() {
            let mut card = card.run(&Self::ABOUT, index);
            if let Err(error) = self.score_run(run, case, &mut card) {
                card.error(error);
            }
        }
        card.note_runs();
    }

    /// The targets that these settings limit, whatever `expect` says.
    fn limits(&self, _block: &Self::Block) -> &'static [&'static str] {
        &[]
    }
}

/// What a metric is called, and what can be gated.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// The name of the metric and of its block.
    pub name: &'static str,
    /// What it measures, in one line.
    pub explanation: &'static str,
    /// What can be gated.
    pub targets: &'static [Target],
    /// What is demanded where the block has no `expect` of its own.
    pub default_gate: &'static str,
    /// Whether there is such a demand at all.
    pub has_default_gate: bool,
    /// Whether it looks at all runs together, so that it says nothing of a single one.
    pub over_all_runs: bool,
    /// Runs needed for a gate on what is a property of all of them.
    pub runs_min: usize,
    /// The keys of which one must be given, because nothing would be gated without.
    pub needs: &'static [Need],
}

impl About {
    /// A metric of each run, with a default gate, that needs no key.
    pub const PLAIN: Self = Self {
        name: "",
        explanation: "",
        targets: &[],
        default_gate: "",
        has_default_gate: true,
        over_all_runs: false,
        runs_min: 1,
        needs: &[],
    };

    /// Whether a target is one of this metric, or leads into the value of one.
    pub fn has_target(&self, target: &str) -> bool {
        self.targets.iter().any(|known| known.leads_to(target))
    }
}

/// A key that a block needs, unless it has another one.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// The name of the key.
    pub key: &'static str,
    /// Whether an empty list means something.
    pub may_be_empty: bool,
}

impl Need {
    /// A key that means something even where it is an empty list.
    pub const fn given(key: &'static str) -> Self {
        Self {
            key,
            may_be_empty: true,
        }
    }

    /// A key that needs something in its list.
    pub const fn filled(key: &'static str) -> Self {
        Self {
            key,
            may_be_empty: false,
        }
    }
}

/// What is scored, against what.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a, B> {
    /// The runs.
    pub trace: &'a AgentTrace,
    /// The block of the metric, where the gates have it.
    pub block: Option<&'a B>,
    /// Whether the block has expectations, which replace the default gate.
    pub has_expectations: bool,
}

impl<B> Case<'_, B> {
    /// Whether the default gate applies: what it finds need not be computed otherwise.
    pub fn has_default_gate(&self) -> bool {
        self.block.is_some() && !self.has_expectations
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

impl Target {
    /// A property of all runs together.
    pub const fn overall(name: &'static str, explanation: &'static str) -> Self {
        Self::new(name, explanation, Scope::Overall)
    }

    /// A property of each run, the lowest value of which is the worst.
    pub const fn lowest(name: &'static str, explanation: &'static str) -> Self {
        Self::new(name, explanation, Scope::RunLowest)
    }

    /// A property of each run, the highest value of which is the worst.
    pub const fn highest(name: &'static str, explanation: &'static str) -> Self {
        Self::new(name, explanation, Scope::RunHighest)
    }

    const fn new(name: &'static str, explanation: &'static str, scope: Scope) -> Self {
        Self {
            name,
            explanation,
            scope,
        }
    }

    /// Whether a name is that of this target, or leads into its value.
    pub fn leads_to(&self, name: &str) -> bool {
        let rest = name.strip_prefix(self.name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }
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

/// A [`Metric`] without its types.
pub trait AnyMetric: Send + Sync {
    /// What it is called, and what can be gated.
    fn about(&self) -> &'static About;

    /// The settings of its block.
    fn settings(&self) -> &'static [Setting];

    /// Reads its block.
    fn read(&self, reader: &mut Reader<'_>, section: &Section<'_>) -> GateBlock;

    /// Computes its targets under these gates.
    fn score_under(&self, gates: &Gates, trace: &AgentTrace, card: &mut Scorecard) -> ScoreResult;
}

impl<M: Metric> AnyMetric for M {
    fn about(&self) -> &'static About {
        &M::ABOUT
    }

    fn settings(&self) -> &'static [Setting] {
        M::Block::declared()
    }

    fn read(&self, reader: &mut Reader<'_>, section: &Section<'_>) -> GateBlock {
        let mut block = M::Block::initial();
        table::fill(&mut block, reader, section, false);
        GateBlock::new(self, block)
    }

    fn score_under(&self, gates: &Gates, trace: &AgentTrace, card: &mut Scorecard) -> ScoreResult {
        let block = gates.get(M::ABOUT.name);
        let case = Case {
            trace,
            block: gates.settings(self),
            has_expectations: block.is_some_and(|block| block.expect.is_some()),
        };
        self.score(&case, card)
    }
}
