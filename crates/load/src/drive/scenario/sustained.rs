//! Constant load: a fixed number of calls in flight for a fixed time.

use super::prelude::*;

/// Constant load for a fixed time.
#[sparse]
#[in_seconds]
#[data(Settings)]
pub struct Sustained {
    /// Calls in flight.
    #[setting(default = 10, short = 'c', elsewhere = "ignored")]
    pub concurrent: u32,
    /// How long the load lasts, such as 500ms, 30s or 1h.
    #[setting(default = "60s", short = 'd', elsewhere = "ignored")]
    pub duration: Duration,
    /// The most calls per second of a closed load; 0 is unlimited.
    #[setting(kind = COUNT_OR_ZERO, otherwise = "0, unlimited")]
    pub rate_limit: Option<u32>,
}

impl ScenarioType for Sustained {
    fn plan(&self, load: &LoadSettings) -> RunResult<Option<LoadPlan>> {
        let schedule = Schedule::steady(load, "sustained", self.duration, self.concurrent);
        Ok(Some(LoadPlan {
            rate_limit: self.rate_limit.filter(|limit| *limit > 0),
            repeat: None,
            ..weighted_calls(schedule)
        }))
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.duration)
    }

    fn summary(&self, shape: Shape) -> Vec<String> {
        let mut parts = shape.steady(self.concurrent, self.duration);
        parts.extend(self.rate_limit.map(|limit| format!("at most {limit}/s")));
        parts
    }
}

/// What most loads call: the calls that were asked for, by weight.
pub fn weighted_calls(schedule: Schedule) -> LoadPlan {
    LoadPlan {
        schedule,
        mixes: Box::new(|context, session, tools| {
            Box::pin(async move {
                let calls = calls_for(context, tools)?;
                let mix = Mix::of_calls(context, session, tools, &calls)?;
                Ok(vec![mix])
            })
        }),
        rate_limit: None,
        repeat: None,
    }
}
