//! The shape of a load over time: phases of constant concurrency, one after the other. Pure.

use crate::prelude::*;

/// A stretch of constant load.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// Its number in events; 0 is outside of any phase.
    pub index: u16,
    pub name: String,
    /// When it begins, since the load began.
    pub from: Duration,
    /// When it ends.
    pub until: Duration,
    /// Calls in flight.
    pub concurrent: u32,
    /// Whether its calls count.
    pub measured: bool,
    /// Which of the mixes of calls is used.
    pub mix: usize,
}

/// Phases in order, without gaps.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Schedule {
    phases: Vec<Phase>,
}

impl Schedule {
    /// A load of one phase, after its warm-up.
    pub fn steady(load: &LoadSettings, name: &str, duration: Duration, concurrent: u32) -> Self {
        Self::default()
            .warm_up(load.warmup, concurrent)
            .then(name, duration, concurrent)
    }

    /// Whether it is as much all the time that counts.
    pub(crate) fn is_steady(&self) -> bool {
        let mut counts = self.phases.iter().filter(|phase| phase.measured);
        let first = counts.next().map(|phase| phase.concurrent);
        counts.all(|phase| Some(phase.concurrent) == first)
    }

    /// Adds a phase at the end.
    pub fn then(self, name: &str, duration: Duration, concurrent: u32) -> Self {
        self.add(name, duration, concurrent, true, 0)
    }

    /// Adds a phase of which nothing counts.
    pub fn warm_up(self, duration: Duration, concurrent: u32) -> Self {
        self.add("warm-up", duration, concurrent, false, 0)
    }

    /// Adds a phase that calls another mix; nothing at all if it takes no time.
    pub(crate) fn add(
        mut self,
        name: &str,
        duration: Duration,
        concurrent: u32,
        measured: bool,
        mix: usize,
    ) -> Self {
        let from = self.end();
        if !duration.is_zero() {
            self.phases.push(Phase {
                index: u16::try_from(self.phases.len() + 1).unwrap_or(u16::MAX),
                name: name.to_owned(),
                from,
                until: from.saturating_add(duration),
                concurrent,
                measured,
                mix,
            });
        }
        self
    }

    pub(crate) fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// When the last phase ends.
    pub fn end(&self) -> Duration {
        self.phases
            .last()
            .map_or(Duration::ZERO, |phase| phase.until)
    }

    /// The phase at a time since the load began; none before or after.
    pub(crate) fn at(&self, elapsed: Duration) -> Option<&Phase> {
        let place = self.phases.partition_point(|phase| phase.until <= elapsed);
        self.phases.get(place)
    }

    /// The calls per second of a phase in the open model, where the first has `first_rate`: as many
    /// times as much as the phase would have calls in flight.
    pub(crate) fn rate_of(&self, phase: &Phase, first_rate: f64) -> f64 {
        let first = self.phases.first().map_or(1, |first| first.concurrent);
        first_rate * f64::from(phase.concurrent) / f64::from(first.max(1))
    }

    /// The most calls in flight.
    pub(crate) fn concurrent_max(&self) -> u32 {
        self.phases
            .iter()
            .map(|phase| phase.concurrent)
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_each_other() {
        let second = Duration::from_secs(1);
        let schedule = Schedule::default()
            .warm_up(second, 2)
            .then("a", second, 2)
            .then("b", second, 5);
        assert_eq!(schedule.end(), 3 * second);
        assert_eq!(schedule.concurrent_max(), 5);
        let name = |elapsed| schedule.at(elapsed).map(|phase| phase.name.as_str());
        assert_eq!(name(Duration::ZERO), Some("warm-up"));
        assert_eq!(name(second), Some("a"));
        assert_eq!(name(Duration::from_millis(2999)), Some("b"));
        assert_eq!(name(3 * second), None);
        assert!(!schedule.phases()[0].measured);
        let rates: Vec<f64> = schedule
            .phases()
            .iter()
            .map(|phase| schedule.rate_of(phase, 40.0))
            .collect();
        assert_eq!(rates, [40.0, 40.0, 100.0]);
        assert_eq!(Schedule::default().warm_up(Duration::ZERO, 1).phases(), []);
    }
}
