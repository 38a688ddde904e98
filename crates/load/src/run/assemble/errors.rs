//! How many calls failed, where nobody said how many may.

use super::frames::of_category;
use crate::prelude::*;

/// The share of the calls that may fail.
pub const ERROR_SHARE_MAX: f64 = 0.05;

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

    /// Many errors.
    pub fn detect_errors(&self, report: &Report) -> Option<Verdict> {
        // Whether a queued call would have got an answer is not known. It has a verdict of its own, and so have starts
        // that failed and frames that are broken.
        let malformed = of_category(report, ErrorCategory::Malformed);
        let judged_elsewhere = [self.queued(), report.errors.starts, malformed];
        let judged_elsewhere = judged_elsewhere.into_iter().sum();
        let failed = report.errors.failed.unwrap_or_default();
        let failed = failed.saturating_sub(judged_elsewhere);
        let rate = share(failed, report.throughput.total_requests)?;
        let is_provoked = self.judging().sends_bad_input || self.judging().interrupts_calls;
        let nothing_succeeded = report.throughput.successful_requests == 0;
        let is_judged = self.header.thresholds.error_rate.is_none() && !is_provoked;
        if !is_judged || nothing_succeeded || rate <= ERROR_SHARE_MAX {
            return None;
        }
        let verdict = Verdict::critical(
            "errors",
            format!("{:.1} % of the calls failed.", rate * 100.0),
            sentence!(
                "set {} to change the limit; the errors are listed by code",
                setting("error_rate")
            ),
        );
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
