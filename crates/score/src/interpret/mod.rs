//! "What this means": sentences derived from the numbers of a load run.
//!
//! A report that says `p99 234 ms` is data; "the slow tail is concentrated on `analyze_options`" is
//! information. Each rule is a function from [`Facts`] to at most one sentence, and is silent unless
//! the numbers bear it. The rules stand in the order in which they are read: what ended the run,
//! then latency, then errors, then what the load itself hides.

mod errors;
mod latency;
mod load;

use crate::prelude::*;

/// How calls were started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LoadModel {
    /// Each client waits for its answer before it calls again.
    #[default]
    Closed,
    /// Calls start on a schedule, whatever the answers.
    Open,
    /// No load at all: a scenario of single steps, of which percentiles and rates say nothing.
    Steps,
}

/// The numbers of a run; `None` where one is not known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Each tool that was called.
    pub tools: Vec<ToolFacts>,
    /// Calls made.
    pub attempted: u64,
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Calls without an answer when the run was interrupted, beside those made.
    pub unanswered: u64,
    /// Median latency, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 99th percentile; `None` where there are too few calls for it.
    pub p99_ms: Option<f64>,
    /// The longest, failed ones included.
    pub max_ms: Option<f64>,
    /// What the clients did with their time, in a load of one phase.
    pub time: Option<ClientTime>,
    /// Failed calls by category.
    pub errors: BTreeMap<ErrorCategory, u64>,
    /// Successful calls per second.
    pub throughput_per_s: Option<f64>,
    /// How calls were started.
    pub model: LoadModel,
    /// Calls in flight at most.
    pub concurrent: u32,
    /// Calls that should have started on the schedule and could not.
    pub dropped: u64,
    /// How many cores the server kept busy on average; `None` where it could not be watched.
    pub server_cores: Option<f64>,
    /// What to change, when the load generator itself was the limit.
    pub generator_limited: Option<Message>,
    /// What the detectors concluded.
    pub verdicts: Vec<Verdict>,
}

/// The time that all clients together spent in calls: those that succeeded, failed, hung, or were
/// under way at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClientTime {
    /// In calls, in seconds.
    pub in_calls_s: f64,
    /// How much of that may have been after the load, in calls that were under way at its end.
    pub overtime_s_max: f64,
    /// How long the load lasted.
    pub load_s: f64,
}

/// The numbers of one tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolFacts {
    /// Its name.
    pub name: String,
    /// Calls that succeeded.
    pub count: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Median latency, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// Median latency of calls made one at a time; `None` with too few of them.
    pub alone_p50_ms: Option<f64>,
    /// Seconds that all clients together spent in its calls, failed ones included.
    pub in_calls_s: f64,
    /// Calls slower than the p99 of the whole run, where they were counted.
    pub slow_calls: Option<u64>,
}

impl Facts {
    fn p99(&self) -> Option<f64> {
        usable(self.p99_ms)
    }
}

/// A latency that can be divided by.
fn usable(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && *value > 0.0)
}

type Rule = fn(&Facts) -> Option<Message>;

const RULES: &[Rule] = &[
    errors::nothing_succeeded,
    errors::problems_found,
    errors::checks_unfinished,
    load::generator_was_the_limit,
    latency::how_it_feels,
    latency::tail_ratio,
    latency::slow_tail_tool,
    latency::slowest_tool,
    latency::percentile_missing,
    errors::concentrated_on_tool,
    errors::concentrated_in_category,
    errors::none_seen,
    load::in_the_burst,
    load::one_at_a_time,
    load::server_was_busy,
    load::limited_by_calls_in_flight,
    load::clients_were_idle,
    load::calls_dropped,
    load::closed_model_hides_stalls,
];

/// What the numbers mean, in whole sentences.
pub fn sentences(facts: &Facts) -> Vec<Message> {
    RULES.iter().filter_map(|rule| rule(facts)).collect()
}

#[cfg(test)]
mod tests;
