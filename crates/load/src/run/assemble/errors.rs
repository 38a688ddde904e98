//! How many calls failed, where nobody said how many may.

use mcprove_score::compare::proportion::share_at_least;
use mcprove_score::deadlock;

use super::frames::of_category;
use crate::prelude::*;

/// The share of the calls that may fail.
pub const ERROR_SHARE_MAX: f64 = 0.05;

/// Failed calls whose category has a finding of its own.
fn found_by_category(report: &Report) -> u64 {
    let has_finding = |detector: &str| {
        let mut verdicts = report.verdicts.iter();
        verdicts.any(|it| it.outcome == Outcome::Finding && it.detector == detector)
    };
    [
        (ErrorCategory::Malformed, true),
        (ErrorCategory::Deadlock, has_finding(deadlock::ID)),
        (ErrorCategory::Crash, has_finding("crash")),
        (ErrorCategory::Disconnected, has_finding("disconnected")),
    ]
    .into_iter()
    .filter(|(_, is_found)| *is_found)
    .map(|(category, _)| of_category(report, category))
    .sum()
}

impl RunFacts<'_> {
    /// With the failed calls, and starts that failed, that count against the server: a late answer is an answer, and a
    /// server may refuse calls by a rate limit, unless somebody said how many may fail.
    pub fn count_failed(&self, errors: ErrorStats) -> ErrorStats {
        let limit = self.header.thresholds.error_rate;
        let refused = limit.map_or(errors.rate_limited, |_| 0);
        let excused = self.late() + refused;
        ErrorStats {
            failed: Some(errors.total.saturating_sub(excused)),
            ..errors
        }
    }

    /// Failed calls and all calls of the phases in which the scenario judges them.
    fn judged_by_scenario(&self) -> (u64, u64) {
        let names = self.judging().judges_errors_in;
        let phases = self.measured_phases();
        let phases = phases.filter(|phase| names.contains(&phase.name.as_str()));
        phases.fold((0, 0), |(failed, calls), phase| {
            let more = (self.failed_and_refused(phase).0, self.calls_of(phase));
            (failed + more.0, calls + more.1)
        })
    }

    /// Many errors: critical where so many failed that it is no chance.
    pub fn detect_errors(&self, report: &Report) -> Option<Verdict> {
        // Whether a queued call would have got an answer is not known. It has a verdict of its own, and so have starts
        // that failed, frames that are broken, and calls that ended with the server or were never answered.
        let judged_elsewhere = self.queued() + report.errors.starts + found_by_category(report);
        let (failed_elsewhere, calls_elsewhere) = self.judged_by_scenario();
        let failed = report.errors.failed.unwrap_or_default();
        let failed = failed.saturating_sub(judged_elsewhere + failed_elsewhere);
        let all = report.throughput.total_requests;
        let calls = all.saturating_sub(calls_elsewhere);
        let rate = share(failed, calls)?;
        let is_provoked = self.judging().sends_bad_input || self.judging().interrupts_calls;
        let nothing_succeeded = report.throughput.successful_requests == 0;
        let is_judged = self.header.thresholds.error_rate.is_none() && !is_provoked;
        if !is_judged || nothing_succeeded || rate <= ERROR_SHARE_MAX {
            return None;
        }
        let hint = sentence!(
            "set {} to change the limit; the errors are listed by code",
            setting("error_rate")
        );
        let is_certain = share_at_least(failed, calls).is_some_and(|low| low > ERROR_SHARE_MAX);
        let failing = format!("{:.1} % of the calls failed", rate * 100.0);
        let verdict = if is_certain {
            Verdict::critical("errors", format!("{failing}."), hint)
        } else {
            let sentence = format!(
                "{failing}, but {} of {} are too few to be sure that it is more than {}.",
                phrase::whole(failed),
                phrase::count(calls, "call"),
                phrase::percent(ERROR_SHARE_MAX)
            );
            Verdict::warning("errors", sentence, hint)
        };
        Some(verdict.number("error_rate", rate))
    }

    /// Calls that the server refused by a rate limit.
    pub fn detect_rate_limit(&self, report: &Report) -> Option<Verdict> {
        let refused = report.errors.rate_limited;
        let calls = report.throughput.total_requests;
        if refused == 0 || self.header.thresholds.error_rate.is_some() {
            return None;
        }
        let verdict = Verdict::warning(
            "rate_limited",
            format!(
                "The server refused {} of {} by a rate limit or a quota.",
                phrase::whole(refused),
                phrase::count(calls, "call")
            ),
            sentence!(
                "lower {} or the number of calls in flight, or set {} to limit how many calls may fail, these included",
                setting("rate"),
                setting("error_rate")
            ),
        );
        Some(verdict.number("refused", refused).number("calls", calls))
    }
}
