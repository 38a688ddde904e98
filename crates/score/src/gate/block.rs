//! What a trace is held to: the blocks of a gates file, by metric.

use std::any::Any;
use std::fmt::Debug;

use crate::prelude::*;

/// What a trace is held to. A metric without a block is not gated.
///
/// ```
/// use mcprove_score::agent::loops::{Loops, LoopsBlock};
/// use mcprove_score::gate::Gates;
///
/// let gates = Gates::default().with(&Loops, LoopsBlock { max_repeats: 2, ..LoopsBlock::default() });
/// assert!(gates.get("loops").is_some() && gates.get("narrative").is_none());
/// assert_eq!(gates.settings(&Loops).unwrap().max_repeats, 2);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Gates {
    blocks: BTreeMap<&'static str, GateBlock>,
    /// Expectations of each run, whatever metric they are about.
    pub expect: Vec<Expectation>,
}

/// The block of a metric.
#[derive(Debug, Clone)]
pub struct GateBlock {
    /// The metric.
    pub about: &'static About,
    /// What its targets must be, instead of the default gate.
    pub expect: Option<Vec<Expectation>>,
    /// The targets that the settings limit, whatever is expected.
    pub limits: &'static [&'static str],
    settings: Arc<dyn Settings>,
}

/// The settings of any block.
trait Settings: Any + Debug + Send + Sync {}

impl<S: Any + Debug + Send + Sync> Settings for S {}

impl GateBlock {
    pub(crate) fn new<M: Metric>(metric: &M, settings: M::Block) -> Self {
        Self {
            about: &M::ABOUT,
            expect: None,
            limits: metric.limits(&settings),
            settings: Arc::new(settings),
        }
    }

    /// Whether its default gate applies.
    pub fn is_default(&self) -> bool {
        self.about.has_default_gate && self.expect.is_none()
    }
}

impl Gates {
    /// These expectations of each run, and no block.
    pub fn of(expect: Vec<Expectation>) -> Self {
        Self {
            expect,
            ..Self::default()
        }
    }

    /// With the block of a metric, and its default gate.
    pub fn with<M: Metric>(mut self, metric: &M, settings: M::Block) -> Self {
        self.insert(GateBlock::new(metric, settings));
        self
    }

    /// With the block of a metric, and what its targets must be instead of the default gate.
    pub fn expecting<M: Metric>(
        mut self,
        metric: &M,
        settings: M::Block,
        expect: Vec<Expectation>,
    ) -> Self {
        let mut block = GateBlock::new(metric, settings);
        block.expect = Some(expect);
        self.insert(block);
        self
    }

    /// Adds a block, or replaces that of the same metric.
    pub fn insert(&mut self, block: GateBlock) {
        self.blocks.insert(block.about.name, block);
    }

    /// The block of the metric of this name.
    pub fn get(&self, name: &str) -> Option<&GateBlock> {
        self.blocks.get(name)
    }

    /// The settings of a metric, where its block is given.
    pub fn settings<M: Metric>(&self, _metric: &M) -> Option<&M::Block> {
        let settings: &dyn Any = &*self.get(M::ABOUT.name)?.settings;
        settings.downcast_ref()
    }

    /// The blocks, in the order of the metrics; those of metrics from elsewhere last.
    pub fn blocks(&self) -> impl Iterator<Item = &GateBlock> {
        let known = metrics().filter_map(|about| self.get(about.name));
        let is_other = |block: &&GateBlock| metrics().all(|about| about.name != block.about.name);
        known.chain(self.blocks.values().filter(is_other))
    }

    /// Every expectation, of the blocks and besides them.
    pub fn expectations(&self) -> impl Iterator<Item = &Expectation> {
        self.blocks()
            .filter_map(|block| block.expect.as_ref())
            .flatten()
            .chain(&self.expect)
    }

    /// The gates without those that are about all runs together.
    pub fn of_one_run(&self) -> Self {
        let mut gates = self.clone();
        gates.blocks.retain(|_, block| !block.about.over_all_runs);
        gates.expect.retain(|expectation| {
            !metrics()
                .filter(|about| about.over_all_runs)
                .any(|about| about.has_target(&expectation.target))
        });
        gates
    }
}

/// What the value at a target must be.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// The name of a target (`stability.score`), or a path into a run (`tool_calls[0].name`).
    pub target: String,
    /// What it must match.
    pub matcher: Matcher,
}
