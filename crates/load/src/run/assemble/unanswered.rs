//! Calls that had no answer when the run was interrupted or killed.

use mcprove_trace::stream::CallMetrics;

use super::RunFacts;

impl RunFacts<'_> {
    /// Calls without an answer when the run was interrupted.
    pub(super) fn unanswered(&self) -> u64 {
        if !self.ending.interrupted {
            return 0;
        }
        let open = if self.judging().leaves_calls {
            0
        } else {
            without_answer(&self.metrics.total())
        };
        open.max(self.hung_unanswered())
    }

    /// Of these, calls that were past the hang threshold.
    pub(super) fn hung_unanswered(&self) -> u64 {
        if self.ending.interrupted {
            u64::try_from(self.metrics.hung_unanswered).unwrap_or_default()
        } else {
            0
        }
    }

    /// The tools that calls without an answer went to.
    pub(super) fn unanswered_tools(&self) -> Vec<String> {
        if !self.ending.interrupted || self.judging().leaves_calls {
            return Vec::new();
        }
        let tools = self.metrics.tools_of(|_| true).into_iter();
        tools
            .filter(|(_, calls)| without_answer(calls) > 0)
            .map(|(name, _)| name)
            .collect()
    }
}

/// Calls that were sent and have no end, or that we gave up.
fn without_answer(calls: &CallMetrics) -> u64 {
    calls
        .sent
        .saturating_sub(calls.succeeded())
        .saturating_sub(calls.failures())
        .saturating_sub(calls.lost_to_faults)
}
