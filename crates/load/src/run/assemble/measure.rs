//! The counts and histograms of a report.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use mcprove_score::coverage::coverage;
use mcprove_score::generator::{self, LoadRate};
use mcprove_score::grade::Grades;
use mcprove_score::isolation::IsolationReport;
use mcprove_trace::ErrorCategory;
use mcprove_trace::stream::{CallMetrics, Fact, FactError, Metrics, SecondMetrics, new_histogram};

use super::figures::per_second;
use super::{ALONE, RunFacts};
use crate::drive::context::{PhaseFact, ReconnectedFact, ServerFact};
use crate::run::format::METRICS;
use crate::run::report::{
    ErrorStats, Interval, LatencyStats, Model, PhaseReport, ProcessStats, Report, RunOutcome,
    ServerInfo, ThroughputStats, ToolReport,
};

/// The most points that a timeline has; a longer run has longer stretches.
const TIMELINE_POINTS_MAX: u64 = 600;

impl RunFacts<'_> {
    /// The counts and histograms; nothing is judged yet.
    pub(super) fn measure(&self, measured: &CallMetrics) -> Result<Report, FactError> {
        let scenario = &self.header.scenario;
        let metrics = self.metrics;
        let is_measured = |phase| self.is_measured(phase);
        let short = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let stats = |histogram: &hdrhistogram::Histogram<u64>| {
            LatencyStats::from_histogram(histogram.clone())
        };
        let server: ServerFact = self.first()?.unwrap_or_default();
        let errors = error_stats(measured);
        let ended = self.load_ended.unwrap_or_default();
        let unstarted: u64 = self.endings.iter().map(|ending| ending.unstarted).sum();
        let late = measured.errors.get(&ErrorCategory::Hang).copied();
        let crashes = metrics.faults.sum(|struck| struck.crashes);
        let rate = scenario.load.rate;
        Ok(Report {
            schema: METRICS.to_owned(),
            run_id: self.header.run_id.clone(),
            started_at: self.header.started_at(),
            duration: self.ending.duration,
            scenario_kind: scenario.kind.clone(),
            model: if rate.is_some() {
                Model::Open
            } else {
                Model::Closed
            },
            rate,
            sessions: scenario.load.sessions,
            seed: self.header.seed,
            server_info: ServerInfo {
                target: self.header.target.clone(),
                ..server.info
            },
            passed: false,
            outcome: RunOutcome::Inconclusive,
            partial: self.ending.interrupted || self.ended_early() || self.has_lost_sessions(),
            interrupted: self.ending.interrupted,
            latency: stats(&measured.latency_ns),
            service: self.service(),
            lateness: measured.wait_ns.as_deref().map(stats),
            failed: stats(&measured.failed_ns),
            warmup: self.latency_of("warm-up"),
            alone: self.latency_of(ALONE),
            throughput: self.throughput(measured, &errors),
            errors,
            process: process_stats(metrics),
            deadlock_count: short(self.deadlocks()),
            hang_count: short(late.unwrap_or_default() + self.hung_unanswered()),
            unanswered: self.unanswered(),
            crash_count: short(metrics.crashes.saturating_sub(crashes)),
            reconnect_count: short(metrics.count_notes(ReconnectedFact::NAME)),
            dropped: ended.paced.dropped + ended.paced.missed + unstarted,
            missed: ended.paced.missed,
            in_flight_at_end: ended.in_flight,
            out_of_range: measured.out_of_range,
            tools: metrics
                .tools_of(is_measured)
                .into_iter()
                .map(|(name, calls)| (name, tool_report(&calls)))
                .collect(),
            phases: self
                .phases
                .iter()
                .map(|phase| self.phase_report(phase))
                .collect(),
            isolation: IsolationReport::default(),
            coverage: coverage(&[], &BTreeMap::new()),
            skipped_tools: Vec::new(),
            generator: generator::judge(None, 0, None, None, None, LoadRate::Unknown),
            grades: Grades::default(),
            cold_start: None,
            deadlock: None,
            race: BTreeMap::new(),
            fuzz: None,
            head_of_line: None,
            session_ends: None,
            leak: None,
            drift: None,
            breaking_point: None,
            spike_recovery: None,
            faults: None,
            details: BTreeMap::new(),
            slowest: metrics.slowest_of(is_measured),
            threshold_violations: Vec::new(),
            verdicts: Vec::new(),
            warnings: Vec::new(),
            losses: Vec::new(),
            meaning: Vec::new(),
            trace_path: if self.header.has_trace {
                "trace.jsonl".into()
            } else {
                PathBuf::new()
            },
            trace: None,
        })
    }

    /// How many calls ended while a phase lasted, whichever they began in; for a scenario that is
    /// no load, its own calls.
    fn ended_in(&self, phase: &PhaseFact) -> u64 {
        let place = usize::from(phase.index).saturating_sub(1);
        let is_load = phase.name != ALONE && !self.endings.is_empty();
        if is_load {
            let counts = self.endings.iter();
            counts.filter_map(|ending| ending.by_phase.get(place)).sum()
        } else {
            let calls = self.calls_in(phase);
            calls.succeeded() + calls.failures()
        }
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
        let tools = self.metrics.tools_of(|phase| self.is_measured(phase));
        for calls in tools.values() {
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
    pub(super) fn duration_of(&self, phase: &PhaseFact) -> Duration {
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

    fn throughput(&self, measured: &CallMetrics, errors: &ErrorStats) -> ThroughputStats {
        let phases = || self.measured_phases();
        let time: Duration = phases().map(|phase| self.duration_of(phase)).sum();
        // What ended after the load would make it look faster than it was.
        let ended: u64 = phases().map(|phase| self.ended_in(phase)).sum();
        let (timeline, intervals) = self.timeline();
        ThroughputStats {
            total_requests: measured.succeeded() + errors.total,
            successful_requests: measured.succeeded(),
            requests_per_sec: per_second(ended, time),
            timeline,
            intervals,
        }
    }

    /// Second by second, or in longer stretches for a long run.
    fn timeline(&self) -> (Vec<(Duration, u64)>, Vec<Interval>) {
        let mut seconds = BTreeMap::<u64, SecondMetrics>::new();
        for ((phase, second), counts) in &self.metrics.seconds {
            if self.is_measured(*phase) {
                seconds.entry(*second).or_default().add(counts);
            }
        }
        let (Some((first, _)), Some((last, _))) =
            (seconds.first_key_value(), seconds.last_key_value())
        else {
            return (Vec::new(), Vec::new());
        };
        let width = (last - first + 1).div_ceil(TIMELINE_POINTS_MAX).max(1);
        let (mut points, mut intervals) = (Vec::new(), Vec::new());
        let mut completed = 0;
        let mut from = *first;
        while from <= *last {
            let mut sum = SecondMetrics::default();
            for (_, counts) in seconds.range(from..from + width) {
                sum.add(counts);
            }
            completed += sum.succeeded + sum.failed;
            from += width;
            points.push((Duration::from_secs(from), completed));
            intervals.push(Interval {
                completed: sum.succeeded + sum.failed,
                failed: sum.failed,
                mean_ms: mean_ms(&sum),
            });
        }
        (points, intervals)
    }
}

fn error_stats(calls: &CallMetrics) -> ErrorStats {
    let mut by_category = calls.errors.clone();
    let mut examples: BTreeMap<ErrorCategory, String> = calls
        .first_errors
        .iter()
        .map(|(category, (_, message))| (*category, message.clone()))
        .collect();
    by_category.remove(&ErrorCategory::Cancelled);
    examples.remove(&ErrorCategory::Cancelled);
    ErrorStats {
        total: calls.failures(),
        by_category,
        examples,
    }
}

fn tool_report(calls: &CallMetrics) -> ToolReport {
    let errors = error_stats(calls);
    ToolReport {
        count: calls.succeeded() + errors.total,
        latency_ms: LatencyStats::from_histogram(calls.latency_ns.clone()),
        errors,
    }
}

fn process_stats(metrics: &Metrics) -> ProcessStats {
    let samples = metrics.usage.clone();
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return ProcessStats::default();
    };
    // The first sample has no time before it to tell a share of.
    let shares = samples.get(1..).unwrap_or_default();
    #[allow(clippy::cast_precision_loss)]
    let count = shares.len().max(1) as f64;
    ProcessStats {
        peak_rss_mb: samples
            .iter()
            .map(|sample| sample.rss_mb)
            .fold(0.0, f64::max),
        final_rss_mb: last.rss_mb,
        growth_mb: (samples.len() > 1).then_some(last.rss_mb - first.rss_mb),
        avg_cpu_pct: shares.iter().fold(0.0, |sum, sample| sum + sample.cpu_pct) / count,
        peak_threads: samples.iter().filter_map(|sample| sample.threads).max(),
        peak_descriptors: samples.iter().filter_map(|sample| sample.descriptors).max(),
        samples,
    }
}

fn mean_ms(counts: &SecondMetrics) -> Option<f64> {
    #[allow(clippy::cast_precision_loss)]
    (counts.succeeded > 0).then(|| counts.latency_ns as f64 / counts.succeeded as f64 / 1e6)
}
