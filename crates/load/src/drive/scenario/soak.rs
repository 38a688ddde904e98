//! A long steady load. Memory is sampled all the while; a leak or a drift of latency shows as a
//! slope.

use std::time::Duration;

use mcprove_settings::registry::{DefaultValue, Setting};

use super::Entry;
use super::sustained::weighted_calls;
use crate::drive::defaults;
use crate::drive::definition::LoadSettings;
use crate::drive::executor::LoadPlan;
use crate::drive::schedule::Schedule;

/// The line in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "soak",
    explanation: "a long steady load: memory leaks, latency that creeps up",
    settings: &[
        Setting {
            name: "concurrent",
            explanation: "calls in flight",
            default: DefaultValue::Integer(4),
        },
        Setting {
            name: "duration",
            explanation: "how long the load lasts",
            default: DefaultValue::Text("1h"),
        },
        Setting {
            name: "sample_interval",
            explanation: "how often memory is looked at; also leak_check_interval",
            default: DefaultValue::Text("10s"),
        },
        Setting {
            name: "latency_drift_ms_per_sec",
            explanation: "how fast the mean latency may grow",
            default: DefaultValue::Number(defaults::LATENCY_DRIFT_MS_PER_SEC),
        },
    ],
    build: |_| defaults::soak(),
};

pub(super) fn plan(load: &LoadSettings, concurrent: u32, duration: Duration) -> LoadPlan {
    LoadPlan {
        schedule: Schedule::default()
            .warm_up(load.warmup, concurrent)
            .then("soak", duration, concurrent),
        mixes: weighted_calls(),
        rate_limit: None,
    }
}
