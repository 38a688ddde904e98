//! The counts and histograms of a report.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use mcprove_trace::ErrorCategory;
use mcprove_trace::stream::{CallMetrics, Metrics, SecondMetrics, new_histogram};

use super::figures::{failures, per_second};
use super::{ALONE, Assembly};
use crate::run::notes::PhaseRecord;
use crate::run::report::{
    ErrorStats, Interval, LatencyStats, PhaseReport, ProcessSample, ProcessStats, Report, SlowCall,
    ThroughputStats, ToolReport,
};

/// How many of the slowest calls are shown.
const SLOWEST_MAX: usize = 10;
/// The most points that a timeline has; a longer run has longer stretches.
const TIMELINE_POINTS_MAX: u64 = 600;

impl Assembly<'_> {
    /// The counts and histograms.
    pub(super) fn measure(&self, report: &mut Report, measured: &CallMetrics) {
        report.latency = LatencyStats::from_histogram(measured.latency_ns.clone());
        report.service = self.service();
        report.lateness = measured
            .wait_ns
            .as_ref()
            .map(|histogram| LatencyStats::from_histogram(histogram.as_ref().clone()));
        report.failed = LatencyStats::from_histogram(measured.failed_ns.clone());
        report.warmup = self.latency_of("warm-up");
        report.alone = self.latency_of(ALONE);
        report.errors = error_stats(measured);
        report.throughput = self.throughput(measured, &report.errors);
        report.process = process_stats(self.metrics);
        let count = |category| {
            let count = measured.errors.get(&category).copied().unwrap_or_default();
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        report.deadlock_count = u32::try_from(self.deadlocks()).unwrap_or(u32::MAX);
        let hung = u32::try_from(self.hung_unanswered()).unwrap_or(u32::MAX);
        report.hang_count = count(ErrorCategory::Hang).saturating_add(hung);
        report.unanswered = self.unanswered();
        let crashes = self
            .metrics
            .crashes
            .saturating_sub(self.metrics.faults.crashes());
        report.crash_count = u32::try_from(crashes).unwrap_or(u32::MAX);
        report.reconnect_count =
            u32::try_from(self.metrics.count_notes("reconnected")).unwrap_or(u32::MAX);
        let ended = self.notes.load_ended.unwrap_or_default();
        let unstarted: u64 = self
            .notes
            .endings
            .iter()
            .map(|ending| ending.unstarted)
            .sum();
        report.dropped = ended.dropped + ended.missed + unstarted;
        report.missed = ended.missed;
        report.in_flight_at_end = ended.in_flight;
        report.out_of_range = measured.out_of_range;
        report.tools = self
            .metrics
            .tools_of(|phase| self.is_measured(phase))
            .into_iter()
            .map(|(name, calls)| (name, tool_report(&calls)))
            .collect();
        report.phases = self
            .notes
            .phases
            .iter()
            .map(|phase| self.phase_report(phase))
            .collect();
        report.slowest = self
            .metrics
            .slowest
            .iter()
            .filter(|(phase, _)| self.is_measured(**phase))
            .flat_map(|(_, slowest)| slowest)
            .map(|slow| SlowCall {
                tool: slow.tool.clone(),
                session: slow.request.session,
                request_id: slow.request.id,
                at: slow.at,
                duration: slow.duration,
                category: slow.category,
            })
            .collect();
        report.slowest.sort_by_key(|slow| {
            (
                Reverse(slow.duration),
                slow.at,
                slow.session,
                slow.request_id,
            )
        });
        report.slowest.truncate(SLOWEST_MAX);
    }

    /// How many calls ended while a phase lasted, whichever they began in; for a scenario that is
    /// no load, its own calls.
    fn ended_in(&self, phase: &PhaseRecord) -> u64 {
        let place = usize::from(phase.index).saturating_sub(1);
        let is_load = phase.name != ALONE && !self.notes.endings.is_empty();
        if is_load {
            let counts = self.notes.endings.iter();
            counts.filter_map(|ending| ending.by_phase.get(place)).sum()
        } else {
            let calls = self.metrics.total_of(|index| index == phase.index);
            calls.succeeded() + failures(&calls)
        }
    }

    /// The time from the sending, in the open model. Later steps of a pattern follow from answers
    /// and have no other time.
    fn service(&self) -> Option<LatencyStats> {
        self.header.scenario.load.rate?;
        let mut sum = new_histogram();
        for calls in self
            .metrics
            .tools_of(|phase| self.is_measured(phase))
            .values()
        {
            let histogram = calls.service_ns.as_deref().unwrap_or(&calls.latency_ns);
            // Both have three digits and grow as needed.
            let _ = sum.add(histogram);
        }
        Some(LatencyStats::from_histogram(sum))
    }

    pub(super) fn latency_of(&self, phase_name: &str) -> Option<LatencyStats> {
        let phase = self
            .notes
            .phases
            .iter()
            .find(|phase| phase.name == phase_name)?;
        let calls = self.metrics.total_of(|index| index == phase.index);
        Some(LatencyStats::from_histogram(calls.latency_ns))
    }

    /// How long a phase really was: the load may have ended within it.
    pub(super) fn duration_of(&self, phase: &PhaseRecord) -> Duration {
        let mut until = phase.until.unwrap_or(self.ending.duration);
        if self.ending.interrupted {
            until = until.min(self.ending.duration);
        }
        if let Some(ended) = self.notes.load_ended
            && phase.name != ALONE
        {
            until = until.min(ended.at);
        }
        until.saturating_sub(phase.from)
    }

    pub(super) fn phase_report(&self, phase: &PhaseRecord) -> PhaseReport {
        let calls = self.metrics.total_of(|index| index == phase.index);
        let duration = self.duration_of(phase);
        let failed = failures(&calls);
        let count = calls.succeeded() + failed;
        PhaseReport {
            name: phase.name.clone(),
            concurrent: phase.concurrent,
            rate: phase.rate,
            measured: phase.measured,
            from: phase.from,
            duration,
            count,
            failed,
            requests_per_sec: per_second(self.ended_in(phase), duration),
            latency_ms: LatencyStats::from_histogram(calls.latency_ns),
        }
    }

    pub fn throughput(&self, measured: &CallMetrics, errors: &ErrorStats) -> ThroughputStats {
        let time: Duration = self
            .notes
            .phases
            .iter()
            .filter(|phase| phase.measured)
            .map(|phase| self.duration_of(phase))
            .sum();
        let total = measured.succeeded() + errors.total;
        // What ended after the load would make it look faster than it was.
        let ended: u64 = self
            .notes
            .phases
            .iter()
            .filter(|phase| phase.measured)
            .map(|phase| self.ended_in(phase))
            .sum();
        let (timeline, intervals) = self.timeline();
        ThroughputStats {
            total_requests: total,
            successful_requests: measured.succeeded(),
            requests_per_sec: per_second(ended, time),
            timeline,
            intervals,
        }
    }

    /// Second by second, or in longer stretches for a long run.
    pub(super) fn timeline(&self) -> (Vec<(Duration, u64)>, Vec<Interval>) {
        let mut seconds = BTreeMap::<u64, SecondMetrics>::new();
        for ((phase, second), counts) in &self.metrics.seconds {
            if self.is_measured(*phase) {
                let sum = seconds.entry(*second).or_default();
                sum.succeeded += counts.succeeded;
                sum.failed += counts.failed;
                sum.latency_ns = sum.latency_ns.saturating_add(counts.latency_ns);
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
                sum.succeeded += counts.succeeded;
                sum.failed += counts.failed;
                sum.latency_ns = sum.latency_ns.saturating_add(counts.latency_ns);
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
        total: failures(calls),
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
    let samples: Vec<ProcessSample> = metrics
        .usage
        .iter()
        .map(|usage| ProcessSample {
            at: usage.at,
            rss_mb: usage.rss_mb,
            cpu_pct: usage.cpu_pct,
            threads: usage.threads,
            descriptors: usage.descriptors,
            processes: usage.processes,
        })
        .collect();
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
