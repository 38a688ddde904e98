//! The blocks of a gates file, resolved. Reading them from YAML, with places, is the business of
//! whoever has the file.

use crate::agent::call_limits::CallLimitsBlock;
use crate::agent::duplicate_writes::DuplicateWritesBlock;
use crate::agent::golden_path::GoldenPathBlock;
use crate::agent::loops::LoopsBlock;
use crate::agent::narrative::NarrativeBlock;
use crate::agent::orchestration::OrchestrationBlock;
use crate::agent::permissions::PermissionsBlock;
use crate::agent::recovery::RecoveryBlock;
use crate::agent::reliability::ReliabilityBlock;
use crate::agent::stability::StabilityBlock;
use crate::agent::trajectory::TrajectoryBlock;
use crate::agent::trajectory_axes::TrajectoryAxesBlock;

use super::Matcher;

/// What a trace is held to. A block that is absent is not gated.
#[derive(Debug, Clone, Default)]
pub struct Gates {
    /// The calls that must be made.
    pub trajectory: Option<TrajectoryBlock>,
    /// What must come before what.
    pub trajectory_axes: Option<TrajectoryAxesBlock>,
    /// The shortest way.
    pub golden_path: Option<GoldenPathBlock>,
    /// How steady the runs are.
    pub stability: Option<StabilityBlock>,
    /// How often the runs pass.
    pub reliability: Option<ReliabilityBlock>,
    /// How the agent takes a dead tool.
    pub recovery: Option<RecoveryBlock>,
    /// Whether the agent tells the truth.
    pub narrative: Option<NarrativeBlock>,
    /// Whether errors are made good.
    pub orchestration: Option<OrchestrationBlock>,
    /// Whether the agent goes in circles.
    pub loops: Option<LoopsBlock>,
    /// What may be called.
    pub permissions: Option<PermissionsBlock>,
    /// How often each tool may be called.
    pub call_limits: Option<CallLimitsBlock>,
    /// Writes that may have happened twice.
    pub duplicate_writes: Option<DuplicateWritesBlock>,
    /// Expectations of each run, whatever metric they are about.
    pub expect: Vec<Expectation>,
}

/// What the value at a target must be.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// The name of a target (`stability.score`), or a path into a run (`tool_calls[0].name`).
    pub target: String,
    /// What it must match.
    pub matcher: Matcher,
}
