//! Whether the limits held, and whether anything worked at all.

use mcprove_score::grade;
use mcprove_score::threshold::{self, Measured};
use mcprove_score::verdict::{Severity, Verdict};
use mcprove_settings::phrase;
use mcprove_settings::quantity::as_milliseconds;
use mcprove_trace::ErrorCategory;
use mcprove_trace::stream::CallMetrics;

use super::RunFacts;
use crate::run::report::{LatencyStats, Report};

impl RunFacts<'_> {
    /// Whether the limits held, and whether anything worked at all.
    pub(super) fn judge(&self, report: &mut Report, measured: &CallMetrics) {
        let advice = report.generator.limited.then(|| {
            report
                .generator
                .advice
                .clone()
                .unwrap_or_else(|| "lower the load".into())
                .text()
        });
        let advice = advice.as_deref();
        let mut evaluations = vec![threshold::evaluate(
            &Measured {
                memory_growth_mb: Self::memory_growth(report),
                ..measured_of(None, measured)
            },
            &self.header.thresholds.limits(),
            advice,
        )];
        let mut tools = self.metrics.tools_of(|phase| self.is_measured(phase));
        for (tool, limits) in &self.header.thresholds.tools {
            let calls = tools.remove(tool).unwrap_or_default();
            let measured = measured_of(Some(tool.clone()), &calls);
            evaluations.push(threshold::evaluate(&measured, &limits.limits(), advice));
        }
        for evaluation in evaluations {
            report.threshold_violations.extend(evaluation.violations);
            for mut verdict in evaluation.inconclusive {
                verdict.detector = format!("threshold:{}", verdict.detector);
                report.verdicts.push(verdict);
            }
        }
        self.judge_success(report);
    }

    /// A run in which nothing succeeded does not pass, whatever its limits.
    pub(super) fn judge_success(&self, report: &mut Report) {
        let attempted = report.throughput.total_requests;
        let interrupted = self.ending.interrupted;
        let success = self.header.scenario.kind.as_type().success(self, report);
        if success.is_reached {
            return;
        }
        if let Some(verdict) = self.met_only_faults(attempted) {
            report.verdicts.push(verdict);
            return;
        }
        // An interruption is not the server's fault, but no proof of anything either.
        if interrupted && (attempted == 0 || !success.is_needed) {
            report.verdicts.push(nothing_yet(report.unanswered));
            return;
        }
        let sentence = if attempted == 0 {
            "No call was completed.".to_owned()
        } else {
            format!(
                "None of the {} succeeded.",
                phrase::count(attempted, "call")
            )
        };
        let worst = report
            .errors
            .by_category
            .iter()
            .max_by_key(|(_, count)| **count)
            .map(|(category, _)| *category);
        // In strict mode it is we who refuse a result.
        let mut checks = self.checks.iter();
        let unfit = checks.find(|check| check.detector == "schema" && !check.passed);
        let hint = match (worst, unfit) {
            (Some(ErrorCategory::ProtocolError), Some(check)) => check.hint.clone(),
            (Some(category), _) => category.hint(),
            (None, _) => "give the run more time, or look at the server's stderr".into(),
        };
        report.verdicts.push(
            Verdict::finding("success", Severity::Critical, sentence, hint)
                .number("attempted", attempted),
        );
    }

    /// The letters, once it is known what was found.
    pub(super) fn grade(&self, report: &mut Report) {
        let failures = report
            .verdicts
            .iter()
            .filter(|verdict| verdict.is_failure())
            .map(|verdict| verdict.detector.clone());
        let violations = report
            .threshold_violations
            .iter()
            .map(|violation| violation.metric.name().to_owned());
        let median = report
            .alone
            .as_ref()
            .filter(|alone| alone.count > 0)
            .map(|alone| as_milliseconds(alone.p50));
        report.grades = grade::grade(&grade::GradeInput {
            alone_median_ms: median,
            // What hung is no success, even where nobody waited for its end.
            attempted: report.throughput.total_requests + self.hung_unanswered(),
            failed: report.errors.total + self.hung_unanswered(),
            deadlocks: u64::from(report.deadlock_count),
            // On a schedule it is a rate that breaks the server, and no number of clients.
            breaking_concurrent: report
                .breaking_point
                .as_ref()
                .filter(|point| point.rate_per_s.is_none())
                .map(|point| point.concurrent),
            failures: failures.chain(violations).collect(),
        });
    }

    /// How much the memory grew: what the leak detector predicts where it ran, else from the first
    /// to the last sample.
    pub(super) fn memory_growth(report: &Report) -> Option<f64> {
        match &report.leak {
            Some(leak) => leak.growth_to_gate_mb(),
            None => report.process.growth_mb,
        }
    }
}

/// What can be said of a run that was interrupted before anything came of it.
fn nothing_yet(unanswered: u64) -> Verdict {
    let sentence = match unanswered {
        0 => "The run was interrupted before anything was found.".to_owned(),
        1 => "The only call was unanswered when the run was interrupted.".to_owned(),
        calls => format!("None of {calls} calls was answered before the run was interrupted."),
    };
    Verdict::inconclusive("success", sentence, "give the run more time")
        .number("unanswered", unanswered)
}

fn measured_of(tool: Option<String>, calls: &CallMetrics) -> Measured {
    let stats = LatencyStats::from_histogram(calls.latency_ns.clone());
    let any = |duration| (stats.count > 0).then_some(duration);
    let failed = calls.failures();
    Measured {
        tool,
        count: stats.count,
        p50: any(stats.p50),
        p95: any(stats.p95),
        p99: any(stats.p99),
        p999: any(stats.p999),
        max: any(stats.max),
        attempted: stats.count + failed,
        failed,
        memory_growth_mb: None,
    }
}
