//! The counts and histograms of a report.

use mcprove_settings::number::float_len;
use mcprove_trace::stream::{SecondMetrics, new_histogram};

use crate::prelude::*;

/// The most points that a timeline has; a longer run has longer stretches.
const TIMELINE_POINTS_MAX: u64 = 600;

impl RunFacts<'_> {
    /// The counts and histograms; nothing is judged yet.
    pub fn measure(&self) -> FactResult<Report> {
        let scenario = &self.header.scenario;
        let (metrics, measured) = (self.metrics, &self.measured);
        let short = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let stats = |histogram: &Histogram<u64>| LatencyStats::from_histogram(histogram.clone());
        let server: ServerFact = self.first()?.unwrap_or_default();
        let ended = self.load_ended.unwrap_or_default();
        let unstarted: u64 = self.endings.iter().map(|ending| ending.unstarted).sum();
        let crashes = metrics.faults.sum(|struck| struck.crashes);
        let rate = scenario.load.rate;
        let tools = self.tools.iter();
        // Of control calls only those that grades are made of are a phase of the report.
        let phases = self.phases.iter();
        let phases = phases.filter(|phase| !phase.control || phase.name == ALONE);
        let control_calls = self.control_phases().map(|phase| self.calls_in(phase).sent);
        let planned = self.starts()?;
        let handshakes = self.handshakes()?;
        let is_about_starts = self.judging().is_about_starts;
        Ok(Report {
            run_id: self.header.run_id.clone(),
            started_at: self.header.started_at(),
            duration: self.ending.duration,
            model: rate.map_or(Model::Closed, |_| Model::Open),
            rate,
            sessions: scenario.load.sessions,
            startup_ms: handshakes.as_ref().map(|it| as_milliseconds(it.p50)),
            handshake: handshakes.filter(|_| is_about_starts),
            seed: self.header.seed,
            server_info: ServerInfo {
                target: self.header.target.clone(),
                ..server.info
            },
            partial: self.ending.interrupted || self.ended_early() || self.has_lost_sessions(),
            interrupted: self.ending.interrupted,
            latency: stats(&measured.latency_ns),
            service: self.service(),
            lateness: measured.wait_ns.as_deref().map(stats),
            failed: stats(&measured.failed_ns),
            warmup: self.latency_of("warm-up"),
            alone: self.latency_of(ALONE),
            throughput: self.throughput(),
            errors: self.count_failed(error_stats(measured).with_starts(planned.as_ref())),
            starts: planned,
            process: process_stats(metrics),
            machine: self.machine_measured(),
            deadlock_count: short(self.deadlocks()),
            hang_count: short(self.late() + self.hung_unanswered()),
            unanswered: self.unanswered(),
            crash_count: short(metrics.crashes.saturating_sub(crashes)),
            reconnect_count: short(metrics.count_notes(ReconnectedFact::NAME)),
            dropped: ended.paced.dropped + ended.paced.missed + unstarted,
            missed: ended.paced.missed,
            in_flight_at_end: ended.in_flight,
            control_calls: control_calls.sum(),
            out_of_range: measured.out_of_range,
            tools: tools
                .map(|(name, calls)| (name.clone(), tool_report(calls)))
                .collect(),
            phases: phases.map(|phase| self.phase_report(phase)).collect(),
            slowest: metrics.slowest_of(|phase| self.is_measured(phase)),
            fail_on: self.header.thresholds.fail_on,
            trace_path: PathBuf::from(if self.header.has_trace {
                "trace.jsonl"
            } else {
                ""
            }),
            ..Report::empty(scenario.kind.clone())
        })
    }

    /// How many calls ended while a phase lasted, whichever they began in; for a scenario that is
    /// no load, its own calls.
    fn ended_in(&self, phase: &PhaseFact) -> u64 {
        let place = usize::from(phase.index).saturating_sub(1);
        let is_load = phase.name != ALONE && !self.endings.is_empty();
        if is_load {
            self.endings
                .iter()
                .filter_map(|ending| ending.by_phase.get(place))
                .sum()
        } else {
            let calls = self.calls_in(phase);
            calls.succeeded() + calls.failures()
        }
    }

    /// Calls of a phase that failed; one that was answered late did not.
    pub fn failed_in(&self, phase: &PhaseFact) -> u64 {
        let calls = self.calls_in(phase);
        let late = super::count_of(&calls, ErrorCategory::Hang);
        calls.failures().saturating_sub(late)
    }

    /// How many calls of a phase ended.
    pub fn calls_of(&self, phase: &PhaseFact) -> u64 {
        let calls = self.calls_in(phase);
        calls.succeeded() + calls.failures()
    }

    /// All calls of a phase.
    fn calls_in(&self, phase: &PhaseFact) -> CallMetrics {
        self.metrics.total_of(|index| index == phase.index)
    }

    /// The time from the sending, in the open model. Later steps of a pattern follow from answers
    /// and have no other time.
    fn service(&self) -> Option<LatencyStats> {
        self.header.scenario.load.rate?;
        let mut sum = new_histogram();
        for calls in self.tools.values() {
            let histogram = calls.service_ns.as_deref().unwrap_or(&calls.latency_ns);
            // Both have three digits and grow as needed.
            let _ = sum.add(histogram);
        }
        Some(LatencyStats::from_histogram(sum))
    }

    fn latency_of(&self, phase: &str) -> Option<LatencyStats> {
        let calls = self.calls_in(self.phase(phase)?);
        Some(LatencyStats::from_histogram(calls.latency_ns))
    }

    /// How long a phase really was: the load may have ended within it.
    pub fn duration_of(&self, phase: &PhaseFact) -> Duration {
        let mut until = phase.until.unwrap_or(self.ending.duration);
        if self.ending.interrupted {
            until = until.min(self.ending.duration);
        }
        if let Some(ended) = self.load_ended
            && phase.name != ALONE
        {
            until = until.min(ended.at);
        }
        until.saturating_sub(phase.from)
    }

    fn phase_report(&self, phase: &PhaseFact) -> PhaseReport {
        let calls = self.calls_in(phase);
        let duration = self.duration_of(phase);
        let failed = calls.failures();
        PhaseReport {
            name: phase.name.clone(),
            concurrent: phase.concurrent,
            rate: phase.rate,
            measured: phase.measured,
            from: phase.from,
            duration,
            count: calls.succeeded() + failed,
            failed,
            requests_per_sec: per_second(self.ended_in(phase), duration),
            latency_ms: LatencyStats::from_histogram(calls.latency_ns),
        }
    }

    fn throughput(&self) -> ThroughputStats {
        let phases = || self.measured_phases();
        let time: Duration = phases().map(|phase| self.duration_of(phase)).sum();
        // What ended after the load would make it look faster than it was.
        let ended: u64 = phases().map(|phase| self.ended_in(phase)).sum();
        let (timeline, intervals) = self.timeline();
        let succeeded = self.measured.succeeded();
        ThroughputStats {
            total_requests: succeeded + self.measured.failures(),
            successful_requests: succeeded,
            requests_per_sec: per_second(ended, time),
            timeline,
            intervals,
        }
    }

    /// Second by second, or in longer stretches for a long run.
    fn timeline(&self) -> (Vec<(Duration, u64)>, Vec<Interval>) {
        let seconds: Vec<(u64, &SecondMetrics)> = self
            .metrics
            .seconds
            .iter()
            .filter(|((phase, _), _)| self.is_measured(*phase))
            .map(|((_, second), counts)| (*second, counts))
            .collect();
        let numbers = || seconds.iter().map(|(second, _)| *second);
        let (Some(first), Some(last)) = (numbers().min(), numbers().max()) else {
            return Default::default();
        };
        let width = (last - first + 1).div_ceil(TIMELINE_POINTS_MAX).max(1);
        let mut stretches = BTreeMap::<u64, SecondMetrics>::new();
        for (second, counts) in &seconds {
            stretches
                .entry((second - first) / width)
                .or_default()
                .add(counts);
        }
        let mut ended = 0;
        (0..=(last - first) / width)
            .map(|place| {
                let sum = stretches.remove(&place).unwrap_or_default();
                let completed = sum.succeeded + sum.failed;
                ended += completed;
                let until = Duration::from_secs(first + (place + 1) * width);
                let mean = float(sum.latency_ns) / float(sum.succeeded) / 1e6;
                let interval = Interval {
                    completed,
                    failed: sum.failed,
                    mean_ms: (sum.succeeded > 0).then_some(mean),
                };
                ((until, ended), interval)
            })
            .unzip()
    }
}

fn error_stats(calls: &CallMetrics) -> ErrorStats {
    let mut by_category = calls.errors.clone();
    by_category.remove(&ErrorCategory::Cancelled);
    let examples = calls.first_errors.iter();
    let mut by_code = calls.codes.clone();
    by_code.remove(ErrorCategory::Cancelled.name());
    ErrorStats {
        total: calls.failures(),
        starts: 0,
        failed: None,
        by_code,
        rate_limited: calls.rate_limited,
        examples: examples
            .filter(|(category, _)| by_category.contains_key(category))
            .map(|(category, (_, message))| (*category, message.clone()))
            .collect(),
        by_category,
    }
}

fn tool_report(calls: &CallMetrics) -> ToolReport {
    ToolReport {
        count: calls.succeeded() + calls.failures(),
        latency_ms: LatencyStats::from_histogram(calls.latency_ns.clone()),
        errors: error_stats(calls),
    }
}

fn process_stats(metrics: &Metrics) -> ProcessStats {
    let samples = &metrics.usage;
    let [first, shares @ ..] = samples.as_slice() else {
        return ProcessStats::default();
    };
    // The first sample has no time before it to tell a share of.
    let last = shares.last();
    let cpu = shares.iter().fold(0.0, |sum, sample| sum + sample.cpu_pct);
    let memory = samples.iter().map(|sample| sample.rss_mb);
    ProcessStats {
        peak_rss_mb: memory.fold(0.0, f64::max),
        final_rss_mb: last.unwrap_or(first).rss_mb,
        growth_mb: last.map(|last| last.rss_mb - first.rss_mb),
        avg_cpu_pct: cpu / float_len(shares.len().max(1)),
        peak_threads: samples.iter().filter_map(|sample| sample.threads).max(),
        peak_descriptors: samples.iter().filter_map(|sample| sample.descriptors).max(),
        samples: samples.clone(),
    }
}
