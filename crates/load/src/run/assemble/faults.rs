//! What injected faults did: to the calls that they struck, and to those that they did not.

use mcprove_score::fault_impact::{self, FaultFacts, FaultedCalls, Timeline};
use mcprove_score::percentile::is_supported;
use mcprove_trace::sparse::TimeBucket;
use mcprove_trace::stream::FaultedMetrics;

use crate::prelude::*;

impl RunFacts<'_> {
    /// Calls that met a fault, or were lost with a connection that one ended.
    pub fn calls_met_faults(&self) -> u64 {
        let faults = &self.metrics.faults;
        let own = faults.sum(|struck| struck.servers_own);
        let lost = faults.sum(|struck| struck.calls_lost);
        faults.sum(FaultedMetrics::calls).saturating_sub(own) + lost
    }

    /// What each fault did, and a verdict on it.
    pub fn detect_faults(&self, report: &mut Report) {
        if self.header.faults.is_empty() {
            return;
        }
        let timeline = self.fault_timeline();
        let metrics = &self.metrics.faults;
        let impacts = fault_impact::judge_all(&self.all_fault_facts(timeline.span), &timeline);
        report
            .verdicts
            .extend(impacts.iter().flat_map(fault_impact::verdicts));
        report.faults = Some(FaultsReport {
            calls_struck: metrics.sum(FaultedMetrics::calls),
            calls_failed: metrics.sum(FaultedMetrics::failed),
            calls_lost: metrics.sum(|struck| struck.calls_lost),
            servers_own: metrics.sum(|struck| struck.servers_own),
            connections_forgotten: metrics.sessions_forgotten,
            calls_forgotten: self.load_ended.map_or(0, |ended| ended.calls_forgotten),
            crashes: metrics.sum(|struck| struck.crashes),
            impacts,
        });
    }

    /// What calls without a fault did over the measured time.
    fn fault_timeline(&self) -> Timeline {
        let mut stretches = BTreeMap::<u64, BTreeMap<String, TimeBucket>>::new();
        for ((phase, number), tools) in &self.metrics.faults.stretches {
            if self.is_measured(*phase) {
                let sums = stretches.entry(*number).or_default();
                for (tool, stretch) in tools {
                    sums.entry(tool.clone()).or_default().add(stretch);
                }
            }
        }
        // When the load became another one: with more or fewer clients, another rate, or other tools.
        let mut begins: Vec<f64> = self
            .measured_phases()
            .filter(|phase| phase.name != ALONE)
            .map(|phase| phase.from.as_secs_f64())
            .collect();
        begins.sort_by(f64::total_cmp);
        Timeline {
            width_secs: self.metrics.faults.width().as_secs_f64(),
            stretches,
            span: self.measured_span(),
            load_changes: begins.into_iter().skip(1).collect(),
        }
    }

    fn all_fault_facts(&self, span: (f64, f64)) -> Vec<FaultFacts> {
        self.header
            .faults
            .iter()
            .map(|fault| self.fault_facts(fault, span))
            .collect()
    }

    /// From when until when each fault was on, or held calls up.
    pub fn fault_spans(&self) -> Vec<(f64, f64)> {
        self.all_fault_facts(self.measured_span())
            .iter()
            .filter_map(FaultFacts::held_window)
            .collect()
    }

    /// The same, without faults that were on all the time: under those the run is all of a piece.
    pub fn partial_fault_spans(&self) -> Vec<(f64, f64)> {
        let (from, until) = self.measured_span();
        let mut spans = self.fault_spans();
        spans.retain(|(on, off)| *on > from || *off < until);
        spans
    }

    /// The verdict that compares these phases, or none where a fault was on in a part of them: then what
    /// differs may be its doing.
    pub fn unless_faults_differ(&self, verdict: Verdict, compared: &[&str]) -> Verdict {
        let phases = self
            .phases
            .iter()
            .filter(|phase| compared.contains(&phase.name.as_str()));
        let spans: Vec<_> = phases
            .map(|phase| {
                let until = phase.until.unwrap_or(self.ending.duration);
                (phase.from.as_secs_f64(), until.as_secs_f64())
            })
            .collect();
        let is_uneven = self.partial_fault_spans().iter().any(|(on, off)| {
            let is_touched = |(from, until): &(f64, f64)| on < until && off >= from;
            let is_covered = |(from, until): &(f64, f64)| on <= from && off >= until;
            spans.iter().any(is_touched) && !spans.iter().all(is_covered)
        });
        if is_uneven {
            Verdict::inconclusive(
                verdict.detector,
                format!(
                    "An injected fault was on in a part of what is compared ({}), so the verdict is inconclusive.",
                    compared.join(" and ")
                ),
                "let the fault be on all the time, or outside of these phases",
            )
        } else {
            verdict
        }
    }

    /// From when until when calls that count were begun, in seconds.
    fn measured_span(&self) -> (f64, f64) {
        let from = self
            .measured_phases()
            .map(|phase| phase.from)
            .min()
            .unwrap_or_default();
        let until = [
            self.load_ended.map(|ended| ended.at),
            self.phase(ALONE)
                .or(self.phase(COMPARISON))
                .map(|alone| alone.from),
            Some(self.ending.duration),
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or_default();
        (from.as_secs_f64(), until.max(from).as_secs_f64())
    }

    fn fault_facts(&self, fault: &LoadFault, (from, until): (f64, f64)) -> FaultFacts {
        let spec = &fault.spec;
        let struck = self.metrics.faults.struck.get(&spec.name);
        let window = if fault.ends_by_itself() {
            struck
                .and_then(|struck| struck.struck_at)
                .map(|(first, last)| (first.as_secs_f64(), last.as_secs_f64()))
        } else {
            let start = from + fault.window.start.unwrap_or_default().as_secs_f64();
            let end = fault.window.end().map(|end| from + end.as_secs_f64());
            // A run that was interrupted may not have come so far.
            (start < until).then(|| (start, end.unwrap_or(until).min(until)))
        };
        let released = struck.and_then(|struck| {
            let last = struck.released_at.map(|at| at.as_secs_f64());
            // What had no end was held to the end.
            if struck.has_open() { Some(until) } else { last }
        });
        FaultFacts {
            name: spec.name.clone(),
            kind: spec.kind.name().to_owned(),
            tool: spec.target.tool.clone(),
            window,
            released_secs: released.map(|secs| secs.min(until)),
            struck: struck.map(struck_calls).unwrap_or_default(),
            max_recovery_secs: fault.max_recovery.map(|limit| limit.as_secs_f64()),
            others_may_suffer: fault.others_may_suffer,
        }
    }

    /// A verdict on hung calls, with those that a fault made hang.
    pub fn and_injected_hangs(&self, mut verdict: Verdict) -> Verdict {
        let hung = self.metrics.faults.sum(|struck| struck.hung);
        if hung == 0 {
            return verdict;
        }
        verdict.sentence = sentence!(
            "{} {} did not answer in time because an injected fault struck {}; that is not held against the server.",
            verdict.sentence,
            phrase::count(hung, "more call"),
            if hung == 1 { "it" } else { "them" },
        );
        verdict.number("injected", hung)
    }
}

fn struck_calls(struck: &FaultedMetrics) -> FaultedCalls {
    let succeeded = struck.latency_ns.count();
    let p99 = struck.latency_ns.quantile(0.99);
    let mut errors = struck.errors.clone();
    errors.remove(&ErrorCategory::Cancelled);
    let milliseconds = |nanoseconds| float(nanoseconds) / 1e6;
    FaultedCalls {
        calls: struck.calls(),
        ended: struck.ended(),
        failed: struck.failed(),
        servers_own: struck.servers_own,
        error_rate: share(struck.failed(), struck.ended()),
        p99_ms: p99
            .filter(|_| is_supported(succeeded, 99.0))
            .map(milliseconds),
        hung: struck.hung,
        errors,
        tools: struck.tools.clone(),
        connections_ended: struck.connections_ended,
        calls_lost: struck.calls_lost,
    }
}
