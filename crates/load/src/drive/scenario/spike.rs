//! A steady load with a sharp burst in it, and time to recover after it.

use std::time::Duration;

use mcprove_settings::registry::{DefaultValue, Setting};

use super::Entry;
use super::sustained::{CONCURRENT, DURATION, weighted_calls};
use crate::drive::defaults;
use crate::drive::definition::Scenario;
use crate::drive::error::StageError;
use crate::drive::executor::LoadPlan;
use crate::drive::kind::ScenarioKind;
use crate::drive::schedule::Schedule;

/// The phase before the burst.
pub const BASELINE: &str = "baseline";
/// The burst.
pub const BURST: &str = "spike";
/// The phase after the burst.
pub const RECOVERY: &str = "recovery";

/// The line in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "spike",
    explanation: "a steady load with a burst in it: overflowing queues, recovery afterwards",
    settings: &[
        CONCURRENT,
        DURATION,
        Setting {
            name: "spike_at",
            explanation: "when the burst begins; half-way unless given",
            default: DefaultValue::Text("30s"),
        },
        Setting {
            name: "spike_duration",
            explanation: "how long the burst takes; a sixth of the run unless given",
            default: DefaultValue::Text("10s"),
        },
        Setting {
            name: "spike_multiplier",
            explanation: "how many times the calls in flight of the baseline; or give spike_concurrent",
            default: DefaultValue::Integer(defaults::SPIKE_MULTIPLIER as u64),
        },
    ],
    build: |_| defaults::spike(),
};

pub(super) fn plan(scenario: &Scenario) -> Result<LoadPlan, StageError> {
    let ScenarioKind::Spike {
        baseline_concurrent,
        spike_concurrent,
        baseline_duration,
        spike_at,
        spike_duration,
    } = scenario.kind
    else {
        return Err(StageError::Internal("not a spike".into()));
    };
    let spike_end = spike_at.saturating_add(spike_duration);
    if spike_end > baseline_duration || spike_duration.is_zero() {
        return Err(StageError::Config(format!(
            "the spike from {spike_at:?} to {spike_end:?} does not fit into a run of {baseline_duration:?}"
        )));
    }
    let recovery = baseline_duration.saturating_sub(spike_end);
    let mut schedule = Schedule::default().warm_up(scenario.load.warmup, baseline_concurrent);
    for (name, duration, concurrent) in [
        (BASELINE, spike_at, baseline_concurrent),
        (BURST, spike_duration, spike_concurrent),
        (RECOVERY, recovery, baseline_concurrent),
    ] {
        if duration > Duration::ZERO {
            schedule = schedule.then(name, duration, concurrent);
        }
    }
    Ok(LoadPlan {
        schedule,
        mixes: weighted_calls(),
        rate_limit: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_burst_has_its_place() {
        let scenario = Scenario::spike()
            .duration(Duration::from_secs(6))
            .concurrent(2);
        let plan = plan(&scenario).unwrap();
        let phases: Vec<_> = plan
            .schedule
            .phases()
            .iter()
            .map(|phase| (phase.name.as_str(), phase.from.as_secs(), phase.concurrent))
            .collect();
        assert_eq!(
            phases,
            [("baseline", 0, 2), ("spike", 3, 100), ("recovery", 4, 2)]
        );
    }

    #[test]
    fn a_burst_beyond_the_end_is_refused() {
        let kind = ScenarioKind::Spike {
            baseline_concurrent: 1,
            spike_concurrent: 10,
            baseline_duration: Duration::from_secs(5),
            spike_at: Duration::from_secs(4),
            spike_duration: Duration::from_secs(2),
        };
        assert!(plan(&kind.into()).is_err());
    }
}
