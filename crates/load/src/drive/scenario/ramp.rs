//! More and more calls in flight, step by step: where does the server break?

use mcprove_settings::registry::{DefaultValue, Setting};

use super::Entry;
use super::sustained::{DURATION, weighted_calls};
use crate::drive::defaults;
use crate::drive::definition::Scenario;
use crate::drive::error::StageError;
use crate::drive::executor::LoadPlan;
use crate::drive::kind::ScenarioKind;
use crate::drive::schedule::Schedule;

/// The most steps that a ramp may have.
const STEPS_MAX: u32 = 1000;

/// The line in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "ramp",
    explanation: "more and more calls in flight: the breaking point",
    settings: &[
        Setting {
            name: "ramp_from",
            explanation: "calls in flight in the first step; also from_concurrent",
            default: DefaultValue::Integer(1),
        },
        Setting {
            name: "ramp_to",
            explanation: "calls in flight in the last step; also to_concurrent",
            default: DefaultValue::Integer(100),
        },
        Setting {
            name: "step_increment",
            explanation: "how many more each step has; a tenth of the way unless given",
            default: DefaultValue::Integer(9),
        },
        DURATION,
    ],
    build: |_| defaults::ramp(),
};

pub(super) fn plan(scenario: &Scenario) -> Result<LoadPlan, StageError> {
    let ScenarioKind::Ramp {
        from_concurrent,
        to_concurrent,
        step_increment,
        duration,
    } = scenario.kind
    else {
        return Err(StageError::Internal("not a ramp".into()));
    };
    let steps = steps(from_concurrent, to_concurrent, step_increment)?;
    let each = duration / u32::try_from(steps.len()).unwrap_or(STEPS_MAX);
    let first = steps.first().copied().unwrap_or_default();
    let mut schedule = Schedule::default().warm_up(scenario.load.warmup, first);
    for concurrent in steps {
        let name = match scenario.load.rate {
            None => format!("{concurrent} in flight"),
            Some(rate) => {
                let rate = rate * f64::from(concurrent) / f64::from(first.max(1));
                format!("{}/s", two_decimals(rate))
            }
        };
        schedule = schedule.then(&name, each, concurrent);
    }
    Ok(LoadPlan {
        schedule,
        mixes: weighted_calls(),
        rate_limit: None,
    })
}

/// A rate in a name: at most two decimals.
fn two_decimals(rate: f64) -> f64 {
    (rate * 100.0).round() / 100.0
}

/// The calls in flight of each step; the last is always `to`.
fn steps(from: u32, to: u32, increment: u32) -> Result<Vec<u32>, StageError> {
    if from == 0 || to < from || increment == 0 {
        return Err(StageError::Config(format!(
            "a ramp goes up from 1 or more in steps of 1 or more, not from {from} to {to} by {increment}"
        )));
    }
    if (to - from) / increment >= STEPS_MAX {
        return Err(StageError::Config(format!(
            "a ramp from {from} to {to} by {increment} has more than {STEPS_MAX} steps"
        )));
    }
    let step = usize::try_from(increment).unwrap_or(usize::MAX);
    let mut steps: Vec<u32> = (from..=to).step_by(step).collect();
    if steps.last() != Some(&to) {
        steps.push(to);
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_step_is_reached() {
        assert_eq!(steps(1, 10, 4).unwrap(), [1, 5, 9, 10]);
        assert_eq!(steps(5, 5, 1).unwrap(), [5]);
        assert_eq!(steps(1, 100, 9).unwrap().last(), Some(&100));
        assert!(steps(0, 5, 1).is_err() && steps(5, 1, 1).is_err() && steps(1, 5, 0).is_err());
        assert!(steps(1, u32::MAX, 1).is_err());
    }
}
