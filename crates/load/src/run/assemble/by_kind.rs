//! What only some scenarios look for.

use std::time::Duration;

use mcprove_score::{
    breaking_point, cold_start, drift, fuzz, head_of_line, leak, race, sessions, spike_recovery,
};
use mcprove_settings::quantity::as_milliseconds;
use mcprove_trace::stream::CallMetrics;

use super::figures::{per_second, samples};
use super::{ALONE, Assembly};
use crate::drive::ScenarioKind;
use crate::drive::scenario::{BASELINE, BURST, FAST_ALONE, MIXED, RECOVERY};
use crate::run::report::{PhaseReport, Report};
use crate::run::session_ends::{self, Focus};

/// How many values of a histogram stand for all of them where a detector wants values.
const QUANTILES: u32 = 200;

/// How much before its time a step may end and still be whole: timers are not exact.
const EARLY_MAX: Duration = Duration::from_millis(5);

impl Assembly<'_> {
    /// What only some scenarios look for.
    pub(super) fn detect_by_kind(&self, report: &mut Report) {
        match &self.header.scenario.kind {
            ScenarioKind::ColdStart { .. } => {
                let samples: Vec<_> = self
                    .notes
                    .cold_starts
                    .iter()
                    .filter(|record| !record.discarded)
                    .map(|record| record.sample)
                    .collect();
                let judged = cold_start::judge(&samples);
                report.verdicts.push(cold_start::verdict(&judged));
                report.cold_start = Some(judged);
            }
            ScenarioKind::RaceCheck { .. } => {
                for record in &self.notes.races {
                    let mut verdict = race::verdict(&record.report);
                    verdict.sentence = format!("{}: {}", record.tool, verdict.sentence);
                    report.verdicts.push(verdict);
                    report
                        .race
                        .insert(record.tool.clone(), record.report.clone());
                }
            }
            ScenarioKind::Fuzzer { .. } => {
                let judged = fuzz::report(self.notes.fuzz_cases.clone());
                report.verdicts.push(fuzz::verdict(&judged));
                report.fuzz = Some(judged);
            }
            ScenarioKind::SlowMix { .. } => self.detect_head_of_line(report),
            ScenarioKind::Spike { .. } => self.detect_recovery(report),
            ScenarioKind::Ramp { .. } => {
                let faults = self.fault_spans();
                let steps: Vec<_> = report
                    .phases
                    .iter()
                    .filter(|phase| phase.measured && phase.name != ALONE)
                    .map(|phase| self.breaking_step(phase, &faults))
                    .collect();
                let point = breaking_point::find(&steps);
                report
                    .verdicts
                    .push(breaking_point::verdict(&steps, point.as_ref()));
                report.breaking_point = point;
            }
            ScenarioKind::Churn { .. } | ScenarioKind::Reconnect { .. } => {
                self.detect_session_ends(report);
            }
            _ => {}
        }
    }

    pub(super) fn detect_head_of_line(&self, report: &mut Report) {
        let Some(names) = &self.notes.slow_mix else {
            return;
        };
        let values = |phase_name: &str, tool: &str| {
            let phase = self
                .notes
                .phases
                .iter()
                .find(|phase| phase.name == phase_name);
            phase
                .and_then(|phase| self.metrics.phases.get(&phase.index)?.get(tool))
                .map(spread)
                .unwrap_or_default()
        };
        let judged = head_of_line::detect(&head_of_line::MixInput {
            fast_alone_ms: values(FAST_ALONE, &names.fast),
            fast_mixed_ms: values(MIXED, &names.fast),
            slow_ms: values(MIXED, &names.slow),
        });
        let left_out = head_of_line::LeftOut {
            tools: names.left_out.clone(),
            limit_ms: names.limit_ms,
        };
        let verdict = head_of_line::verdict(&judged, &left_out);
        let verdict = self.unless_faults_differ(verdict, &[FAST_ALONE, MIXED]);
        report.verdicts.push(verdict);
        report.head_of_line = Some(judged);
    }

    fn breaking_step(&self, phase: &PhaseReport, faults: &[(f64, f64)]) -> breaking_point::Step {
        let from = phase.from.as_secs_f64();
        let until = from + phase.duration.as_secs_f64();
        let mut records = self.notes.phases.iter();
        let planned = records
            .find(|record| record.name == phase.name && record.from == phase.from)
            .and_then(|record| Some(record.until?.saturating_sub(record.from)))
            .unwrap_or_default();
        breaking_point::Step {
            concurrent: phase.concurrent,
            rate_per_s: phase.rate,
            calls: phase.count,
            errors: phase.failed,
            p99_ms: tail_ms(phase),
            throughput_per_s: successes_per_second(phase),
            begun_per_s: per_second(phase.count, phase.duration),
            is_whole: phase.duration + EARLY_MAX >= planned,
            met_fault: faults.iter().any(|(on, off)| *on < until && *off >= from),
        }
    }

    /// Whether the server is after the burst what it was before it.
    fn detect_recovery(&self, report: &mut Report) {
        let phase = |name: &str| {
            let mut phases = report.phases.iter();
            phases
                .find(|phase| phase.name == name)
                .map(phase_calls)
                .unwrap_or_default()
        };
        let tools = |name: &str| {
            let record = self.notes.phases.iter().find(|phase| phase.name == name);
            let index = record.map_or(0, |phase| phase.index);
            self.metrics.phases.get(&index)
        };
        let after = tools(RECOVERY);
        let compared = tools(BASELINE).into_iter().flatten().map(|(tool, calls)| {
            let later = after.and_then(|tools| tools.get(tool));
            spike_recovery::ToolRecovery {
                tool: tool.clone(),
                before: quartiles(calls),
                after: later.map(quartiles).unwrap_or_default(),
            }
        });
        let judged = spike_recovery::judge(&spike_recovery::SpikeInput {
            baseline: phase(BASELINE),
            burst: phase(BURST),
            recovery: phase(RECOVERY),
            tools: compared.collect(),
        });
        let verdict = spike_recovery::verdict(&judged);
        let verdict = self.unless_faults_differ(verdict, &[BASELINE, RECOVERY]);
        report.verdicts.push(verdict);
        report.spike_recovery = Some(judged);
    }

    pub(super) fn detect_session_ends(&self, report: &mut Report) {
        let record = self.notes.sessions.unwrap_or_default();
        let judged = sessions::judge(
            &sessions::ChurnInput {
                run: self.ending.duration,
                opened: record.opened,
                failed_opens: record.failed_opens,
                abandoned: record.abandoned,
                rss: samples(report, |sample| Some(sample.rss_mb)),
                descriptors: samples(report, |sample| sample.descriptors.map(f64::from)),
                leftovers: record.leftovers,
                zombies: record.zombies,
            },
            &leak::LeakSettings::default(),
        );
        let focus = match self.header.scenario.kind {
            _ if report.server_info.transport == "stdio" => Focus::Processes,
            ScenarioKind::Churn { .. } => Focus::Leaks,
            _ => Focus::Recovery,
        };
        let verdicts = session_ends::verdicts(&record, &judged, focus);
        report.verdicts.extend(verdicts);
        report.session_ends = Some(judged);
    }

    /// Memory and latency that grow, where a run is long enough to tell.
    pub(super) fn detect_growth(&self, report: &mut Report) {
        let ScenarioKind::Soak {
            duration,
            latency_drift_ms_per_sec,
            ..
        } = self.header.scenario.kind
        else {
            return;
        };
        let warmup = self.header.scenario.load.warmup;
        let settings = leak::LeakSettings {
            threshold_mb: self
                .header
                .thresholds
                .memory_growth_mb
                .unwrap_or(leak::LeakSettings::default().threshold_mb),
            warmup: (!warmup.is_zero()).then_some(warmup),
        };
        let found = leak::detect(
            &samples(report, |sample| Some(sample.rss_mb)),
            duration,
            &settings,
        );
        report.verdicts.push(leak::verdict(&found, &settings));
        let faults = self.partial_fault_spans();
        let is_faulted = |from: Duration, length: Duration| {
            let from = from.as_secs_f64();
            let until = from + length.as_secs_f64();
            faults.iter().any(|(on, off)| *on < until && *off >= from)
        };
        let timeline = &report.throughput.timeline;
        let ends = timeline.iter().skip(1).map(|(offset, _)| *offset);
        let ends = ends.chain([self.ending.duration]);
        let means: Vec<(Duration, f64)> = timeline
            .iter()
            .zip(ends)
            .zip(&report.throughput.intervals)
            .filter(|(((from, _), until), _)| !is_faulted(*from, until.saturating_sub(*from)))
            .filter_map(|(((from, _), _), interval)| Some((*from, interval.mean_ms?)))
            .collect();
        let drift_settings = drift::DriftSettings {
            limit_ms_per_s: latency_drift_ms_per_sec,
        };
        let drifted = drift::detect(&means, settings.warmup_of(duration), &drift_settings);
        report.verdicts.push(drift::verdict(&drifted));
        report.leak = Some(found);
        report.drift = Some(drifted);
    }
}

fn phase_calls(phase: &PhaseReport) -> spike_recovery::PhaseCalls {
    spike_recovery::PhaseCalls {
        duration_secs: phase.duration.as_secs_f64(),
        calls: phase.count,
        errors: phase.failed,
        ended_per_s: phase.requests_per_sec,
        p50_ms: (phase.latency_ms.count > 0).then(|| as_milliseconds(phase.latency_ms.p50)),
        p99_ms: tail_ms(phase),
    }
}

fn quartiles(calls: &CallMetrics) -> spike_recovery::Quartiles {
    let histogram = &calls.latency_ns;
    let at =
        |quantile| as_milliseconds(Duration::from_nanos(histogram.value_at_quantile(quantile)));
    spike_recovery::Quartiles {
        count: histogram.len(),
        p25_ms: at(0.25),
        p50_ms: at(0.5),
        p75_ms: at(0.75),
    }
}

/// p99, or the maximum where there are too few calls for it.
fn tail_ms(phase: &PhaseReport) -> Option<f64> {
    let latency = &phase.latency_ms;
    let tail = latency.supported(0.99).or(latency.slowest());
    tail.map(as_milliseconds)
}

/// Values that stand for all of a histogram, in milliseconds: as many as there are, or evenly
/// spread ones where they are too many.
fn spread(calls: &CallMetrics) -> Vec<f64> {
    let histogram = &calls.latency_ns;
    let count = u32::try_from(histogram.len())
        .unwrap_or(u32::MAX)
        .min(QUANTILES);
    (0..count)
        .map(|place| (f64::from(place) + 0.5) / f64::from(count))
        .map(|quantile| Duration::from_nanos(histogram.value_at_quantile(quantile)))
        .map(as_milliseconds)
        .collect()
}

/// The rate of a phase without what failed.
fn successes_per_second(phase: &PhaseReport) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let share = phase.count.saturating_sub(phase.failed) as f64 / phase.count.max(1) as f64;
    phase.requests_per_sec * share
}
