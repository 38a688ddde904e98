//! Constant load: so many calls in flight for so long.

use std::sync::Arc;
use std::time::Duration;

use mcprove_document::figure;
use mcprove_settings::quantity::seconds;
use mcprove_settings::setting::Settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ScenarioType, Shape, Work};
use crate::drive::definition::LoadSettings;
use crate::drive::error::StageError;
use crate::drive::executor::{LoadPlan, MakeMixes};
use crate::drive::mix::{Mix, calls_for};
use crate::drive::schedule::Schedule;

/// What it finds.
pub(super) const EXPLANATION: &str =
    "constant load for a fixed time: latency, throughput, errors, isolation of replies";

/// Constant load for a fixed time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Settings)]
pub struct Sustained {
    /// Calls in flight.
    #[setting(default = 10, short = 'c', elsewhere = "ignored")]
    pub concurrent: u32,
    /// How long the load lasts, such as 500ms, 30s or 1h.
    #[setting(default = "60s", short = 'd', elsewhere = "ignored")]
    #[serde(rename = "duration_secs", with = "seconds")]
    #[schemars(with = "f64")]
    pub duration: Duration,
    /// The most calls per second of a closed load; 0 is unlimited.
    #[setting(kind = COUNT_OR_ZERO, otherwise = "0, unlimited")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<u32>,
}

impl ScenarioType for Sustained {
    fn work(&self, load: &LoadSettings) -> Result<Work, StageError> {
        Ok(Work::Load(LoadPlan {
            schedule: Schedule::default()
                .warm_up(load.warmup, self.concurrent)
                .then("sustained", self.duration, self.concurrent),
            mixes: weighted_calls(),
            rate_limit: self.rate_limit.filter(|limit| *limit > 0),
        }))
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.duration)
    }

    fn summary(&self, shape: Shape) -> Vec<String> {
        let mut parts = vec![
            shape.clients(self.concurrent),
            figure::duration(self.duration),
        ];
        parts.extend(self.rate_limit.map(|limit| format!("at most {limit}/s")));
        parts
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
