//! Constant load: so many calls in flight for so long.

use std::sync::Arc;
use std::time::Duration;

use mcprove_settings::registry::{DefaultValue, Setting};

use super::Entry;
use crate::drive::defaults;
use crate::drive::definition::LoadSettings;
use crate::drive::executor::{LoadPlan, MakeMixes};
use crate::drive::mix::{Mix, calls_for};
use crate::drive::schedule::Schedule;

/// The line in the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "sustained",
    explanation: "constant load for a fixed time: latency, throughput, errors, isolation of replies",
    settings: &[
        CONCURRENT,
        DURATION,
        Setting {
            name: "rate_limit",
            explanation: "the most calls per second; 0 is unlimited",
            default: DefaultValue::Integer(0),
        },
    ],
    build: |_| defaults::sustained(),
};

/// The knob `concurrent` of most loads.
pub(super) const CONCURRENT: Setting = Setting {
    name: "concurrent",
    explanation: "calls in flight",
    default: DefaultValue::Integer(10),
};

/// The knob `duration` of most loads.
pub(super) const DURATION: Setting = Setting {
    name: "duration",
    explanation: "how long the load lasts",
    default: DefaultValue::Text("60s"),
};

pub(super) fn plan(
    load: &LoadSettings,
    concurrent: u32,
    duration: Duration,
    rate_limit: Option<u32>,
) -> LoadPlan {
    LoadPlan {
        schedule: Schedule::default().warm_up(load.warmup, concurrent).then(
            "sustained",
            duration,
            concurrent,
        ),
        mixes: weighted_calls(),
        rate_limit,
    }
}

/// The one mix of most loads: the calls that were asked for, by weight.
pub(super) fn weighted_calls() -> MakeMixes {
    Box::new(|stage, session, tools| {
        Box::pin(async move {
            let calls = calls_for(stage, tools)?;
            let mix = Mix::of_calls(stage, session, tools, &calls)?;
            Ok(Arc::new(vec![mix]))
        })
    })
}
