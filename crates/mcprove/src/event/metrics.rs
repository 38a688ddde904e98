//! What a run amounts to: counts and latency histograms, by tool and by method.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use mcprove_score::trace::{CallFailure, ErrorCategory};

/// Three digits: a percentile is right to 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;

/// What the calls to one tool, or one method, amounted to.
#[derive(Debug, Clone)]
pub struct CallMetrics {
    /// Requests sent.
    pub sent: u64,
    /// Latency of the successful ones, in nanoseconds.
    pub latency_ns: Histogram<u64>,
    /// Time to failure of the others, in nanoseconds.
    pub failed_ns: Histogram<u64>,
    /// Failures by category.
    pub errors: BTreeMap<ErrorCategory, u64>,
    /// Values that no histogram could hold.
    pub out_of_range: u64,
}

/// What a run amounted to so far.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Calls by tool name.
    pub tools: BTreeMap<String, CallMetrics>,
    /// Everything that is not `tools/call`, by method.
    pub methods: BTreeMap<String, CallMetrics>,
    /// Requests that passed the hang threshold.
    pub hangs: u64,
    /// Requests that passed the grace period too.
    pub deadlocks: u64,
    /// Server processes that ended.
    pub crashes: u64,
    /// The largest resident memory sampled, in MB.
    pub peak_rss_mb: f64,
}

impl CallMetrics {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            sent: 0,
            latency_ns: new_histogram(),
            failed_ns: new_histogram(),
            errors: BTreeMap::new(),
            out_of_range: 0,
        }
    }

    /// Requests answered with a result.
    pub fn succeeded(&self) -> u64 {
        self.latency_ns.len()
    }

    /// Requests that ended in a failure.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    pub(super) fn succeed(&mut self, duration: Duration) {
        record(&mut self.latency_ns, &mut self.out_of_range, duration);
    }

    pub(super) fn fail(&mut self, duration: Duration, failure: &CallFailure<'_>) {
        *self.errors.entry(failure.category).or_default() += 1;
        record(&mut self.failed_ns, &mut self.out_of_range, duration);
    }

    /// Starts again from nothing, keeping the memory.
    pub(super) fn clear(&mut self) {
        self.sent = 0;
        self.out_of_range = 0;
        self.latency_ns.reset();
        self.failed_ns.reset();
        self.errors.clear();
    }

    /// Adds what `other` counted.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.out_of_range += other.out_of_range;
        add_histogram(
            &mut self.latency_ns,
            &other.latency_ns,
            &mut self.out_of_range,
        );
        add_histogram(
            &mut self.failed_ns,
            &other.failed_ns,
            &mut self.out_of_range,
        );
        for (category, count) in &other.errors {
            *self.errors.entry(*category).or_default() += count;
        }
    }
}

impl Default for CallMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All tool calls together.
    pub fn total(&self) -> CallMetrics {
        let mut total = CallMetrics::new();
        for calls in self.tools.values() {
            total.add(calls);
        }
        total
    }

    /// Adds what `other` counted.
    pub fn add(&mut self, other: &Self) {
        for (name, calls) in &other.tools {
            self.tools.entry(name.clone()).or_default().add(calls);
        }
        for (name, calls) in &other.methods {
            self.methods.entry(name.clone()).or_default().add(calls);
        }
        self.hangs += other.hangs;
        self.deadlocks += other.deadlocks;
        self.crashes += other.crashes;
        self.peak_rss_mb = self.peak_rss_mb.max(other.peak_rss_mb);
    }
}

fn new_histogram() -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, 2, SIGNIFICANT_DIGITS)
        .unwrap_or_else(|_| unreachable!("constant bounds are valid"));
    histogram.auto(true);
    histogram
}

fn record(histogram: &mut Histogram<u64>, out_of_range: &mut u64, duration: Duration) {
    let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    if histogram.record(nanoseconds).is_err() {
        *out_of_range += 1;
    }
}

fn add_histogram(into: &mut Histogram<u64>, from: &Histogram<u64>, out_of_range: &mut u64) {
    if into.add(from).is_err() {
        *out_of_range += from.len();
    }
}
