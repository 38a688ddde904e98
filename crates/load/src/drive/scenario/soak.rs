//! A long steady load. What the server's processes hold is sampled all the while; a leak or a drift of latency shows as a
//! slope, and throughput is compared with that of the start.

use mcprove_score::throughput_drift::{self, SteadyLoad};
use mcprove_score::{drift, leak};

use super::prelude::*;

/// How often a server's processes are looked at, at least.
const SAMPLE_INTERVAL_MAX: Duration = Duration::from_secs(10);

/// A long steady load, with memory and latency watched for growth.
#[in_seconds]
#[data(Settings)]
pub struct Soak {
    #[setting(like = Sustained::CONCURRENT, default = 4)]
    pub concurrent: u32,
    #[setting(like = Sustained::DURATION, default = "1h")]
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
    fn questions(&self) -> &'static [&'static str] {
        &[leak::ID, throughput_drift::ID, drift::ID]
    }

    fn judging(&self) -> Judging {
        Judging {
            judges_growth: true,
            ..Judging::default()
        }
    }

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

    /// Memory and latency that grow, and throughput that falls, where a run is long enough to tell.
    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> FactResult {
        let mut settings = facts.sample_warmup();
        if let Some(limit) = facts.header.thresholds.memory_growth_mb {
            settings.threshold_mb = limit;
        }
        let length = facts.load_duration();
        let memory = facts.samples_of_load(report, |sample| Some(sample.rss_mb));
        let served = leak::Served {
            calls: facts.calls_ended(),
            ..leak::Served::default()
        };
        let found = leak::detect(&memory, length, &settings, &served);
        report.verdicts.push(leak::verdict(&found, &settings));
        let intervals = facts.intervals(report);
        let means: Vec<(Duration, f64)> = intervals
            .iter()
            .filter_map(|interval| Some((interval.until, interval.mean_ms?)))
            .collect();
        let warmup = settings.warmup_of(length);
        let machine = facts.machine(report, warmup);
        let drifted = drift::detect(&means, warmup, self.latency_drift_ms_per_sec, machine);
        report.verdicts.push(drift::verdict(&drifted));
        let slowed = throughput_drift::judge(&SteadyLoad {
            intervals: &intervals,
            warmup,
            is_open: report.model == Model::Open,
            cpu_us: &cpu_used(report),
            machine,
            noise_at_end: facts.noise_at_end(report, warmup),
        });
        // Calls that are stuck are fewer calls per second too, and have a verdict of their own.
        let slowed = slowed.filter(|_| report.deadlock_count == 0);
        report.verdicts.extend(slowed);
        report.leak = Some(found);
        report.drift = Some(drifted);
        Ok(())
    }

    fn sections(&self, report: &Report) -> Vec<Section> {
        let leak = report.leak.iter().map(leak_section);
        leak.chain(report.drift.iter().map(drift_section)).collect()
    }

    fn summary(&self, shape: Shape) -> Vec<String> {
        shape.steady(self.concurrent, self.duration)
    }
}

/// Often enough for twenty samples.
pub fn sample_interval(duration: Duration) -> Duration {
    (duration / 20).clamp(Duration::from_millis(50), SAMPLE_INTERVAL_MAX)
}

fn leak_section(report: &LeakReport) -> Section {
    let lines = [
        format!("Outcome: {}", name_of(report.outcome)),
        format!(
            "Growth while it was sampled: {} MB, {} kB per call",
            maybe_decimal(report.growth_mb, 1),
            maybe_decimal(report.growth_per_call_kb, 2)
        ),
        format!(
            "Slope: {} MB/s, 95 % between {} and {} · R² {}",
            maybe_decimal(report.slope_mb_per_s, 4),
            maybe_decimal(report.slope_low, 4),
            maybe_decimal(report.slope_high, 4),
            maybe_fixed(report.r_squared, 2)
        ),
        samples(report.samples, report.discarded),
    ];
    Section::new("Memory").list(lines)
}

fn drift_section(report: &DriftReport) -> Section {
    let outcome = match report.outcome {
        Outcome::Pass => "no drift",
        Outcome::Finding => "latency drifts",
        Outcome::Inconclusive => "inconclusive",
    };
    let lines = [
        format!("Outcome: {outcome}"),
        format!(
            "Slope: {} ms/s, 95 % between {} and {} · limit {} · R² {}",
            maybe_decimal(report.slope_ms_per_s, 4),
            maybe_decimal(report.slope_low, 4),
            maybe_decimal(report.slope_high, 4),
            maybe_decimal(report.limit_ms_per_s, 4),
            maybe_fixed(report.r_squared, 2)
        ),
        samples(report.points, report.discarded),
    ];
    Section::new("Latency drift").list(lines)
}

fn samples(used: usize, discarded: usize) -> String {
    format!("Samples: {used} used, {discarded} left out (warm-up)")
}
