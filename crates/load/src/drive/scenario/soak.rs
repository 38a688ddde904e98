//! A long steady load. Memory is sampled all the while; a leak or a drift of latency shows as a
//! slope.

use mcprove_score::{drift, leak};

use super::prelude::*;

/// How often a server's processes are looked at, at least.
const SAMPLE_INTERVAL_MAX: Duration = Duration::from_secs(10);

/// A long steady load, with memory and latency watched for growth.
#[in_seconds]
#[data(Settings)]
pub struct Soak {
    /// Calls in flight.
    #[setting(default = 4, elsewhere = "ignored")]
    pub concurrent: u32,
    /// How long the load lasts.
    #[setting(default = "1h", elsewhere = "ignored")]
    pub duration: Duration,
    /// How often the server's processes are looked at.
    #[setting(
        otherwise = "a twentieth of the run, at most 10s",
        alias = "leak_check_interval",
        elsewhere = "ignored"
    )]
    pub sample_interval: Duration,
    /// How fast the mean latency may grow, in milliseconds per second.
    #[setting(default = 0.5)]
    pub latency_drift_ms_per_sec: f64,
}

impl ScenarioType for Soak {
    fn plan(&self, load: &LoadSettings) -> RunResult<Option<LoadPlan>> {
        let schedule = Schedule::steady(load, "soak", self.duration, self.concurrent);
        Ok(Some(weighted_calls(schedule)))
    }

    fn complete(&mut self, given: &Given<'_, '_>, _: &mut Reader<'_>) {
        if !given.has("sample_interval") && !given.has("leak_check_interval") {
            self.changed("duration");
        }
    }

    fn changed(&mut self, name: &str) {
        if name == "duration" {
            self.sample_interval = sample_interval(self.duration);
        }
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.duration)
    }

    fn sample_interval(&self) -> Option<Duration> {
        Some(self.sample_interval)
    }

    /// Memory and latency that grow, where a run is long enough to tell.
    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> FactResult {
        let warmup = facts.header.scenario.load.warmup;
        let mut settings = leak::LeakSettings {
            warmup: (!warmup.is_zero()).then_some(warmup),
            ..leak::LeakSettings::default()
        };
        if let Some(limit) = facts.header.thresholds.memory_growth_mb {
            settings.threshold_mb = limit;
        }
        let memory = samples(report, |sample| Some(sample.rss_mb));
        let found = leak::detect(&memory, self.duration, &settings);
        report.verdicts.push(leak::verdict(&found, &settings));
        let faults = facts.partial_fault_spans();
        let is_faulted = |from: Duration, length: Duration| {
            let from = from.as_secs_f64();
            let until = from + length.as_secs_f64();
            faults.iter().any(|(on, off)| *on < until && *off >= from)
        };
        let timeline = &report.throughput.timeline;
        let ends = timeline.iter().skip(1).map(|(offset, _)| *offset);
        let ends = ends.chain([facts.ending.duration]);
        let means: Vec<(Duration, f64)> = timeline
            .iter()
            .zip(ends)
            .zip(&report.throughput.intervals)
            .filter(|(((from, _), until), _)| !is_faulted(*from, until.saturating_sub(*from)))
            .filter_map(|(((from, _), _), interval)| Some((*from, interval.mean_ms?)))
            .collect();
        let warmup = settings.warmup_of(self.duration);
        let drifted = drift::detect(&means, warmup, self.latency_drift_ms_per_sec);
        report.verdicts.push(drift::verdict(&drifted));
        report.leak = Some(found);
        report.drift = Some(drifted);
        Ok(())
    }

    fn summary(&self, shape: Shape) -> Vec<String> {
        shape.steady(self.concurrent, self.duration)
    }
}

/// Often enough for twenty samples.
pub fn sample_interval(duration: Duration) -> Duration {
    (duration / 20).clamp(Duration::from_millis(50), SAMPLE_INTERVAL_MAX)
}
