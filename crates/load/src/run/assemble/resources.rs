//! What the server's processes hold, beside what they served.

use mcprove_score::growth::Progress;
use mcprove_score::leak::{self, LeakSettings};
use mcprove_score::machine::{self, Machine};
use mcprove_score::resource_leak::{self, Resource, Sampled};
use mcprove_score::throughput_drift::LoadInterval;

use super::errors::ERROR_SHARE_MAX;
use crate::prelude::*;

impl RunFacts<'_> {
    /// When the load was over, or the last step of a scenario: after that a server has nothing to do.
    fn load_end(&self) -> Duration {
        let steps = self.measured_phases().map(|phase| phase.until);
        let ends = steps.max().flatten();
        let ends = self.load_ended.map(|ended| ended.at).or(ends);
        ends.map_or(self.ending.duration, |end| end.min(self.ending.duration))
    }

    /// When the server had answered for the last time, where calls failed after that: a server that ran out of what it
    /// keeps of its calls can keep no more.
    fn served_until(&self) -> Option<Duration> {
        let seconds = &self.metrics.seconds;
        let last = |counts: fn(&mcprove_trace::stream::SecondMetrics) -> u64| {
            let some = seconds.iter().filter(|(_, it)| counts(it) > 0);
            some.map(|((_, second), _)| *second).max()
        };
        let served = last(|it| it.succeeded)?;
        (last(|it| it.failed)? > served).then(|| Duration::from_secs(served + 1))
    }

    /// Samples of (time since the start, value) until the load was over, or the server had answered for the last time.
    pub fn samples_of_load(
        &self,
        report: &Report,
        value: impl Fn(&ProcessSample) -> Option<f64>,
    ) -> Vec<(Duration, f64)> {
        let end = self.load_end();
        let end = self.served_until().map_or(end, |until| until.min(end));
        let mut samples = samples(report, value);
        samples.retain(|(at, _)| *at <= end);
        samples
    }

    /// Samples of the time after the load in which the idle server was watched. What is seen after that is its end.
    fn samples_after_load(
        &self,
        report: &Report,
        value: impl Fn(&ProcessSample) -> Option<f64>,
    ) -> Vec<(Duration, f64)> {
        let watched = self.metrics.notes_of(IdleWatchFact::NAME);
        let until = watched.map(|note| note.at).min().unwrap_or_default();
        let from = self.load_end();
        let mut samples = samples(report, value);
        samples.retain(|(at, _)| *at > from && *at <= until);
        samples
    }

    /// The calls that had ended at the end of each second, whatever they were made for.
    pub fn calls_ended(&self) -> Progress {
        let mut seconds = BTreeMap::<u64, u64>::new();
        for ((_, second), counts) in &self.metrics.seconds {
            *seconds.entry(*second).or_default() += counts.succeeded + counts.failed;
        }
        let end = self.load_end();
        let mut ended = 0;
        let sums = seconds.into_iter().map(|(second, count)| {
            ended += count;
            (second, ended)
        });
        let mut progress: Progress = Vec::new();
        for (second, sum) in sums {
            let (from, until) = (Duration::from_secs(second), Duration::from_secs(second + 1));
            // Nothing ended in a second that has no entry.
            match progress.last() {
                Some(&(last, before)) if last < from => progress.push((from, before)),
                None => progress.push((from, 0)),
                _ => {}
            }
            // The load may have ended within its last second.
            progress.push((until.min(end).max(from), sum));
        }
        progress
    }

    /// Which samples of a load do not count: those of the warm-up that was asked for, or else of the start of the run.
    pub fn sample_warmup(&self) -> LeakSettings {
        let warmup = self.header.scenario.load.warmup;
        LeakSettings {
            warmup: (!warmup.is_zero()).then_some(warmup),
            ..LeakSettings::default()
        }
    }

    /// How long a load lasted: as long as was planned, unless its calls were done before or it was interrupted.
    pub fn load_duration(&self) -> Duration {
        let planned = self.header.scenario.kind.duration();
        planned.map_or(self.ending.duration, |it| it.min(self.load_end()))
    }

    /// Descriptors, threads and processes that grow with the calls. A soak says so where they do not, too.
    pub fn detect_resource_leaks(&self, report: &mut Report) {
        let is_soak = self.judging().judges_growth;
        if !self.is_steady_load() {
            return;
        }
        let duration = self.load_duration();
        let duration = self.served_until().map_or(duration, |it| it.min(duration));
        let warmup = self.sample_warmup().warmup_of(duration);
        let calls = self.calls_ended();
        let concurrent = u64::from(self.header.scenario.kind.concurrent());
        let is_full = self.metrics.count_notes(FullDescriptorsFact::NAME) > 0;
        let judge = |resource| {
            let samples = self.samples_of_load(report, |sample| resource_of(sample, resource));
            let after = self.samples_after_load(report, |sample| resource_of(sample, resource));
            let found = resource_leak::detect(&Sampled {
                samples: &samples,
                after: &after,
                is_full: is_full && resource == Resource::Descriptors,
                warmup,
                calls: &calls,
                in_flight: concurrent.max(report.in_flight_at_end),
            })?;
            Some(resource_leak::verdict(resource, &found))
        };
        let mut verdicts: Vec<Verdict> = Resource::ALL.into_iter().filter_map(judge).collect();
        // Each process has memory, threads and descriptors of its own.
        let processes = Resource::Processes.detector();
        let is_found = |verdict: &Verdict| verdict.outcome == Outcome::Finding;
        if verdicts
            .iter()
            .any(|it| it.detector == processes && is_found(it))
        {
            verdicts.retain(|it| it.detector == processes);
            report
                .verdicts
                .retain(|it| it.detector != leak::ID || !is_found(it));
        }
        verdicts.retain(|it| is_soak || is_found(it));
        report.verdicts.extend(verdicts);
    }

    /// Whether it is a load with as many clients, or as high a rate, all the time: more clients need more of everything.
    fn is_steady_load(&self) -> bool {
        let mut loads = self
            .measured_phases()
            .map(|phase| (phase.concurrent, phase.rate));
        let first = loads.next();
        first.is_some()
            && self.header.scenario.kind.duration().is_some()
            && loads.all(|load| Some(load) == first)
    }

    /// The intervals of the timeline without those in which a fault was on for a part of the time.
    pub fn intervals(&self, report: &Report) -> Vec<LoadInterval> {
        let faults = self.partial_fault_spans();
        let timeline = &report.throughput.timeline;
        let width = match timeline.as_slice() {
            [(first, _), (second, _), ..] => second.saturating_sub(*first),
            _ => Duration::from_secs(1),
        };
        let loads: Vec<(Duration, Duration)> = self
            .measured_phases()
            .map(|phase| (phase.from, phase.from + self.duration_of(phase)))
            .collect();
        let intervals = timeline.iter().zip(&report.throughput.intervals);
        let errors = &report.errors;
        // A late answer is one, and too many of them are too slow.
        let mut categories = errors.by_category.keys();
        let is_late = categories.all(|it| *it == ErrorCategory::Hang);
        let failed_max = match errors.rate_limited {
            _ if is_late => 1.0,
            0 => ERROR_SHARE_MAX,
            _ => 0.0,
        };
        intervals
            .map(|((until, _), interval)| {
                let from = until.saturating_sub(width);
                let overlap = |(begin, end): &(Duration, Duration)| {
                    (*end).min(*until).saturating_sub(from.max(*begin))
                };
                LoadInterval {
                    from,
                    until: *until,
                    length: loads.iter().map(overlap).sum(),
                    completed: interval.completed,
                    mean_ms: interval.mean_ms,
                    has_failures: share(interval.failed, interval.completed)
                        .is_some_and(|failed| failed > failed_max),
                }
            })
            .filter(|interval| {
                let [from, until] = [interval.from, interval.until].map(|it| it.as_secs_f64());
                !faults.iter().any(|(on, off)| *on < until && *off >= from)
            })
            .collect()
    }

    /// What is known of the machine after the warm-up of a load. A generator that was the limit had too little of it.
    pub fn machine(&self, report: &Report, warmup: Duration) -> Machine {
        if report.generator.limited {
            Machine::Noisy
        } else {
            machine::over_time(&self.machine, warmup..self.load_end())
        }
    }

    /// How noisy the machine was at the end of a load; not known where the generator was the limit.
    pub fn noise_at_end(&self, report: &Report, warmup: Duration) -> MachineReport {
        if report.generator.limited {
            MachineReport::default()
        } else {
            machine::at_end(&self.machine, warmup..self.load_end())
        }
    }

    /// How noisy the machine was in a range of time.
    pub fn machine_in(&self, range: Range<Duration>) -> MachineReport {
        machine::judge(&self.machine, range)
    }

    /// How noisy the machine was in a phase.
    pub fn machine_while(&self, phase: &str) -> MachineReport {
        self.phase(phase)
            .map_or_else(MachineReport::default, |phase| {
                self.machine_in(phase.from..phase.from + self.duration_of(phase))
            })
    }

    /// How noisy the machine was while something was measured, or in all of the run where that has no phases; none if nobody
    /// watched.
    pub fn machine_measured(&self) -> Option<MachineReport> {
        let from = self.measured_phases().map(|phase| phase.from).min();
        let machine = self.machine_in(from.unwrap_or_default()..self.load_end());
        machine.noise_share.is_some().then_some(machine)
    }
}

/// The CPU time that the server had used at each sample, in microseconds.
pub fn cpu_used(report: &Report) -> Progress {
    let mut used = 0.0;
    let mut before = Duration::ZERO;
    let samples = report.process.samples.iter();
    samples
        .map(|sample| {
            let elapsed = sample.at.saturating_sub(before).as_secs_f64();
            before = sample.at;
            used += sample.cpu_pct / 100.0 * elapsed * 1e6;
            (sample.at, number::truncated(used))
        })
        .collect()
}

fn resource_of(sample: &ProcessSample, resource: Resource) -> Option<f64> {
    match resource {
        Resource::Descriptors => sample.descriptors,
        Resource::Threads => sample.threads,
        Resource::Processes => Some(sample.processes),
    }
    .map(f64::from)
}
