//! Whether the limits held, and whether anything worked at all.

use crate::prelude::*;
use mcprove_score::threshold::{self, Limits, Measured};
use mcprove_score::verdict::SUCCESS;
use mcprove_score::{deadlock, grade};

impl RunFacts<'_> {
    /// Whether the limits held, and whether anything worked at all.
    pub fn judge(&self, report: &mut Report) -> FactResult {
        let advice = report.generator.limited.then(|| report.generator_advice());
        let limits = &self.header.thresholds;
        let mut all = Measured {
            // What the leak detector predicts where it ran, else from the first to the last sample.
            memory_growth_mb: match &report.leak {
                Some(leak) => leak.growth_to_gate_mb(),
                None => report.process.growth_mb,
            },
            startup: self.handshakes()?.map(|it| it.max),
            failed_starts: report.errors.starts,
            coverage: report.coverage.callable_share(),
            ..measured_of(None, &self.measured)
        };
        all.attempted += report.errors.starts;
        all.failed += report.errors.starts;
        let none = CallMetrics::default();
        let tools = limits.tools.iter().map(|(tool, limits)| {
            let calls = self.tools.get(tool).unwrap_or(&none);
            (measured_of(Some(tool.clone()), calls), limits.limits())
        });
        let of_all = Limits {
            memory_growth_mb: limits.memory_growth_mb,
            startup: limits.startup,
            min_coverage: limits.min_coverage,
            ..limits.limits()
        };
        let machine = report.machine.unwrap_or_default();
        for (measured, limits) in [(all, of_all)].into_iter().chain(tools) {
            let evaluation = threshold::evaluate(&measured, &limits, advice.as_ref(), &machine);
            report.threshold_violations.extend(evaluation.violations);
            let unjudged = evaluation.inconclusive.into_iter();
            report.verdicts.extend(unjudged.map(Verdict::about_limit));
        }
        self.judge_success(report);
        Ok(())
    }

    /// A run in which nothing succeeded does not pass, whatever its limits.
    fn judge_success(&self, report: &mut Report) {
        let attempted = report.throughput.total_requests;
        let success = self.header.scenario.kind.as_type().success(self, report);
        if success.is_reached {
            return;
        }
        let met = self.calls_met_faults();
        let verdict = if attempted == 0 && met > 0 {
            let calls = phrase::count(met, "call");
            Verdict::inconclusive(
                SUCCESS,
                format!("All {calls} met an injected fault, so nothing is known of the server."),
                "aim the faults at one tool, at some calls (rate, calls), or at a time (start, duration)",
            )
            .number("struck", met)
        } else if self.ending.interrupted && (attempted == 0 || !success.is_needed) {
            // An interruption is not the server's fault, but no proof of anything either.
            nothing_yet(report.unanswered)
        } else if self.measured.rate_limited > 0
            && self.measured.rate_limited >= self.measured.failures()
        {
            deadlock::refused(&phrase::count(attempted, "call"))
        } else {
            let sentence = match attempted {
                0 => "No call was completed.".to_owned(),
                1 => "The only call did not succeed.".to_owned(),
                calls => format!("None of the {} succeeded.", phrase::count(calls, "call")),
            };
            let worst = report
                .errors
                .by_category
                .iter()
                .max_by_key(|(_, count)| **count);
            // In strict mode it is we who refuse a result.
            let unfit = self
                .checks
                .iter()
                .find(|check| check.detector == SCHEMA_CHECK && !check.passed);
            let hint = match (worst, unfit) {
                (Some((ErrorCategory::ProtocolError, _)), Some(check)) => check.hint.clone(),
                (Some((category, _)), _) => category.hint(),
                (None, _) => "give the run more time, or look at the server's stderr".into(),
            };
            Verdict::critical(SUCCESS, sentence, hint).number("attempted", attempted)
        };
        report.verdicts.push(verdict);
    }

    /// The letters, once it is known what was found.
    pub fn grade(&self, report: &mut Report) {
        let failures = report.failures().map(|verdict| verdict.detector.clone());
        let violations = report
            .threshold_violations
            .iter()
            .map(|violation| violation.metric.name().to_owned());
        let alone = report.alone.as_ref().filter(|alone| alone.count > 0);
        // On a schedule it is a rate that breaks the server, and no number of clients.
        let breaking = report
            .breaking_point
            .as_ref()
            .filter(|point| point.rate_per_s.is_none());
        let mut failures: Vec<String> = failures.chain(violations).collect();
        failures.dedup();
        report.grades = grade::grade(&grade::GradeInput {
            alone_median_ms: alone.map(|alone| as_milliseconds(alone.p50)),
            // What hung is no success, even where nobody waited for its end.
            attempted: report.attempted() + self.hung_unanswered(),
            failed: report.errors.failed.unwrap_or_default() + self.hung_unanswered(),
            deadlocks: u64::from(report.deadlock_count),
            breaking_concurrent: breaking.map(|point| point.concurrent),
            failures,
            is_inconclusive: report.outcome() == RunOutcome::Inconclusive,
        });
    }
}

/// What can be said of a run that was interrupted before anything came of it.
fn nothing_yet(unanswered: u64) -> Verdict {
    let sentence = match unanswered {
        0 => "The run was interrupted before anything was found.".to_owned(),
        1 => "The only call was unanswered when the run was interrupted.".to_owned(),
        calls => format!("None of {calls} calls was answered before the run was interrupted."),
    };
    Verdict::inconclusive(SUCCESS, sentence, "give the run more time")
        .number("unanswered", unanswered)
}

fn measured_of(tool: Option<String>, calls: &CallMetrics) -> Measured {
    let stats = LatencyStats::from_histogram(calls.latency_ns.clone());
    let any = |duration| (stats.count > 0).then_some(duration);
    let failures = calls.failures();
    Measured {
        tool,
        count: stats.count,
        min: any(stats.min),
        p50: any(stats.p50),
        p95: any(stats.p95),
        p99: any(stats.p99),
        p999: any(stats.p999),
        max: any(stats.max),
        attempted: stats.count + failures,
        // A late answer is an answer.
        failed: failures - super::count_of(calls, ErrorCategory::Hang),
        ..Measured::default()
    }
}
