//! What nearly every file uses: the words of a run, verdicts, and the report that they come to.

pub use mcprove_score::verdict::{Outcome, Severity, Verdict};
pub use mcprove_settings::number::share;
pub use mcprove_settings::phrase;
pub use mcprove_trace::prelude::*;

pub use crate::drive::{Scenario, ScenarioKind};
pub use crate::run::report::{LatencyStats, Report, RunOutcome};
pub use crate::run::{RunError, RunFacts};
