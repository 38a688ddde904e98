//! The metrics sink: counts and latency histograms, per thread, merged on demand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use mcprove_score::trace::{CallFailure, ErrorCategory, Event, EventKind};
use rustc_hash::FxHashMap;

use super::{Shard, Sink, SinkError};

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

    fn succeed(&mut self, duration: Duration) {
        record(&mut self.latency_ns, &mut self.out_of_range, duration);
    }

    fn fail(&mut self, duration: Duration, failure: &CallFailure<'_>) {
        *self.errors.entry(failure.category).or_default() += 1;
        record(&mut self.failed_ns, &mut self.out_of_range, duration);
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

/// Gathers [`Metrics`] from all threads.
///
/// ```
/// use std::sync::Arc;
/// use mcprove::event::{EventStream, MetricsSink};
///
/// let metrics = Arc::new(MetricsSink::new());
/// let stream = EventStream::new(vec![metrics.clone()]);
/// drop(stream.recorder());
/// assert_eq!(metrics.snapshot().total().sent, 0);
/// ```
#[derive(Default)]
pub struct MetricsSink {
    merged: Arc<Mutex<Metrics>>,
}

impl MetricsSink {
    /// An empty sink.
    pub fn new() -> Self {
        Self::default()
    }

    /// What has been merged so far.
    pub fn snapshot(&self) -> Metrics {
        self.merged
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Sink for MetricsSink {
    fn name(&self) -> &'static str {
        "metrics"
    }

    fn shard(&self) -> Box<dyn Shard> {
        Box::new(MetricsShard {
            merged: Arc::clone(&self.merged),
            names: FxHashMap::default(),
            calls: Vec::new(),
            rest: Metrics::default(),
        })
    }
}

/// One thread's metrics. Calls are found by name once per event, without allocating.
struct MetricsShard {
    merged: Arc<Mutex<Metrics>>,
    names: FxHashMap<Box<str>, usize>,
    calls: Vec<(CallName, CallMetrics)>,
    rest: Metrics,
}

enum CallName {
    Tool(Box<str>),
    Method(Box<str>),
}

impl MetricsShard {
    fn of(&mut self, method: &str, tool: Option<&str>) -> &mut CallMetrics {
        // A tool may be called like a method; methods have a slash, which keeps them apart
        // except for `ping`-like ones, so the key of a method gets one more.
        let index = match tool {
            Some(tool) => self.names.get(tool).copied(),
            None => self.names.get(method_key(method).as_str()).copied(),
        };
        let index = index.unwrap_or_else(|| self.add_name(method, tool));
        &mut self.calls[index].1
    }

    fn add_name(&mut self, method: &str, tool: Option<&str>) -> usize {
        let (key, name) = match tool {
            Some(tool) => (tool.into(), CallName::Tool(tool.into())),
            None => (method_key(method).into(), CallName::Method(method.into())),
        };
        self.calls.push((name, CallMetrics::new()));
        let index = self.calls.len() - 1;
        self.names.insert(key, index);
        index
    }
}

fn method_key(method: &str) -> String {
    format!("\u{0}{method}")
}

impl Shard for MetricsShard {
    fn record(&mut self, event: &Event<'_>) -> Result<(), SinkError> {
        match &event.kind {
            EventKind::Request { method, tool, .. } => self.of(method, *tool).sent += 1,
            EventKind::Response {
                method,
                tool,
                duration,
                ..
            } => {
                self.of(method, *tool).succeed(*duration);
            }
            EventKind::Error {
                method,
                tool,
                duration,
                failure,
                ..
            } => {
                self.of(method, *tool).fail(*duration, failure);
            }
            EventKind::Hang { .. } => self.rest.hangs += 1,
            EventKind::Deadlock { .. } => self.rest.deadlocks += 1,
            EventKind::Crash { .. } => self.rest.crashes += 1,
            EventKind::ProcessSample { rss_mb, .. } => {
                self.rest.peak_rss_mb = self.rest.peak_rss_mb.max(*rss_mb);
            }
            EventKind::ScenarioEvent { .. } => {}
        }
        Ok(())
    }

    fn merge(&mut self) -> Result<(), SinkError> {
        let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        merged.add(&std::mem::take(&mut self.rest));
        for (name, calls) in &mut self.calls {
            let (map, name) = match name {
                CallName::Tool(name) => (&mut merged.tools, name),
                CallName::Method(name) => (&mut merged.methods, name),
            };
            match map.get_mut(name.as_ref()) {
                Some(total) => total.add(calls),
                None => {
                    map.insert(name.to_string(), calls.clone());
                }
            }
            calls.clear();
        }
        Ok(())
    }
}

impl CallMetrics {
    /// Starts again from nothing, keeping the memory.
    fn clear(&mut self) {
        self.sent = 0;
        self.out_of_range = 0;
        self.latency_ns.reset();
        self.failed_ns.reset();
        self.errors.clear();
    }
}

#[cfg(test)]
mod tests {
    use mcprove_score::trace::RequestKey;

    use super::*;

    fn answered(tool: Option<&'static str>, milliseconds: u64) -> Event<'static> {
        Event {
            at: Duration::ZERO,
            kind: EventKind::Response {
                request: RequestKey { session: 0, id: 1 },
                method: "tools/call",
                tool,
                duration: Duration::from_millis(milliseconds),
                result: "{}",
            },
        }
    }

    #[test]
    fn shards_of_several_threads_add_up() {
        let sink = MetricsSink::new();
        let mut shards = [sink.shard(), sink.shard()];
        for (index, shard) in shards.iter_mut().enumerate() {
            for milliseconds in 1..=100 {
                shard
                    .record(&answered(Some("echo"), milliseconds + index as u64))
                    .unwrap();
            }
            shard.merge().unwrap();
            shard.merge().unwrap();
        }
        let metrics = sink.snapshot();
        let echo = &metrics.tools["echo"];
        assert_eq!(echo.succeeded(), 200);
        let median = echo.latency_ns.value_at_quantile(0.5);
        assert!((49_000_000..52_000_000).contains(&median), "{median}");
    }

    #[test]
    fn a_tool_named_like_a_method_is_kept_apart() {
        let sink = MetricsSink::new();
        let mut shard = sink.shard();
        shard.record(&answered(Some("tools/call"), 1)).unwrap();
        shard.record(&answered(None, 1)).unwrap();
        shard.merge().unwrap();
        let metrics = sink.snapshot();
        assert_eq!(metrics.tools["tools/call"].succeeded(), 1);
        assert_eq!(metrics.methods["tools/call"].succeeded(), 1);
    }
}
