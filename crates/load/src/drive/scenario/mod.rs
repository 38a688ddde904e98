//! The scenarios: one file each, one line in [`ENTRIES`].
//!
//! A scenario is either a load ([`Work::Load`]): a shape over time and something to call, carried
//! out by the executor; or steps of its own ([`Work::Steps`]). Either way it emits events and
//! judges nothing: that is done by `run/assemble.rs` with the detectors of `mcprove_score`.

mod check;
mod churn;
mod cold_start;
mod deadlock_probe;
mod departure;
mod early_call;
mod fuzzer;
mod interrupted_call;
mod pattern;
mod race_check;
mod ramp;
mod reconnect;
mod reference;
mod slow_mix;
mod soak;
mod spike;
mod sustained;

use std::sync::Arc;

use mcprove_settings::registry;
use mcprove_trace::BoxFuture;
use mcprove_trace::stream::Recorder;

use super::error::StageError;
use super::executor::LoadPlan;
use super::kind::ScenarioKind;
use super::stage::Stage;

pub use fuzzer::payload_names;
pub use mcprove_settings::registry::{DefaultValue, Setting};
pub use pattern::{PRESETS, preset};
pub use slow_mix::{FAST_ALONE, MIXED};
pub use spike::{BASELINE, BURST, RECOVERY};

/// A scenario that can be chosen by name, with its knobs.
pub type Entry = registry::Entry<ScenarioKind>;

/// Every scenario.
pub const ENTRIES: &[Entry] = &[
    cold_start::ENTRY,
    sustained::ENTRY,
    spike::ENTRY,
    ramp::ENTRY,
    soak::ENTRY,
    pattern::ENTRY,
    deadlock_probe::ENTRY,
    race_check::ENTRY,
    fuzzer::ENTRY,
    slow_mix::ENTRY,
    reconnect::ENTRY,
    churn::ENTRY,
    early_call::ENTRY,
    interrupted_call::ENTRY,
];

/// How a scenario is carried out.
pub(crate) enum Work {
    /// As a load.
    Load(LoadPlan),
    /// In steps of its own.
    Steps(Box<dyn Steps>),
}

/// A scenario that is no load.
pub(crate) trait Steps: Send + Sync {
    /// Carries it out; events tell what came of it.
    fn run<'a>(
        &'a self,
        stage: &'a Arc<Stage>,
        recorder: &'a Arc<Recorder>,
    ) -> BoxFuture<'a, Result<(), StageError>>;
}

/// How the scenario of `stage` is carried out.
pub(crate) fn work(stage: &Stage) -> Result<Work, StageError> {
    let load = &stage.scenario.load;
    match &stage.scenario.kind {
        ScenarioKind::Sustained {
            concurrent,
            duration,
            rate_limit,
        } => Ok(Work::Load(sustained::plan(
            load,
            *concurrent,
            *duration,
            *rate_limit,
        ))),
        ScenarioKind::Spike { .. } => spike::plan(&stage.scenario).map(Work::Load),
        ScenarioKind::Ramp { .. } => ramp::plan(&stage.scenario).map(Work::Load),
        ScenarioKind::Soak {
            concurrent,
            duration,
            ..
        } => Ok(Work::Load(soak::plan(load, *concurrent, *duration))),
        ScenarioKind::Pattern {
            concurrent,
            duration,
            patterns,
        } => Ok(Work::Load(pattern::plan(
            load,
            *concurrent,
            *duration,
            patterns,
        ))),
        ScenarioKind::SlowMix {
            concurrent,
            duration,
            slow_share,
        } => slow_mix::plan(load, *concurrent, *duration, *slow_share).map(Work::Load),
        kind => steps(kind).map(Work::Steps),
    }
}

fn steps(kind: &ScenarioKind) -> Result<Box<dyn Steps>, StageError> {
    Ok(match kind {
        ScenarioKind::ColdStart { iterations, warmup } => {
            Box::new(cold_start::ColdStart::new(*iterations, *warmup))
        }
        ScenarioKind::DeadlockProbe {
            concurrent,
            list_timeout,
            ..
        } => Box::new(deadlock_probe::DeadlockProbe::new(
            *concurrent,
            *list_timeout,
        )),
        ScenarioKind::RaceCheck { concurrent, rounds } => {
            Box::new(race_check::RaceCheck::new(*concurrent, *rounds))
        }
        ScenarioKind::Fuzzer {
            iterations,
            payloads,
            answer_timeout,
        } => Box::new(fuzzer::Fuzzer::new(*iterations, payloads, *answer_timeout)?),
        ScenarioKind::Reconnect {
            iterations,
            concurrent,
        } => Box::new(reconnect::Reconnect::new(*iterations, *concurrent)),
        ScenarioKind::Churn {
            sessions,
            concurrent,
        } => Box::new(churn::Churn::new(*sessions, *concurrent)),
        ScenarioKind::EarlyCall { iterations } => Box::new(early_call::EarlyCall::new(*iterations)),
        ScenarioKind::InterruptedCall { iterations } => {
            Box::new(interrupted_call::InterruptedCall::new(*iterations))
        }
        kind => {
            return Err(StageError::Internal(format!(
                "{} is carried out as a load",
                kind.name()
            )));
        }
    })
}

/// Finds a scenario by name, taking `-` for `_`.
pub fn find(name: &str) -> Result<&'static Entry, registry::RegistryError> {
    registry::find(ENTRIES, name)
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    #[test]
    fn every_scenario_has_its_name_and_builds_with_its_defaults() {
        for entry in ENTRIES {
            let kind = entry.build_with(&Map::new()).unwrap();
            assert_eq!(kind.name(), entry.name);
            assert!(!entry.explanation.is_empty());
        }
    }
}
