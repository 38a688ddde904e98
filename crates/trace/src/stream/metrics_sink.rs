//! The metrics sink: gathers [`Metrics`] per thread, and merges them on demand.

use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;

use super::faulted::{Attribution, FaultedCalls};
use super::metrics::{Note, ProcessSample, SecondMetrics, SlowCall, nanoseconds};
use super::{Shard, SinkError, SinkResult};
use crate::prelude::*;

const NAME: &str = "metrics";

/// Gathers [`Metrics`] from all threads.
///
/// ```
/// use std::sync::Arc;
/// use mcprove_trace::stream::{EventStream, MetricsSink};
///
/// let metrics = Arc::new(MetricsSink::new());
/// let stream = EventStream::new(vec![metrics.clone()]);
/// drop(stream.recorder());
/// assert_eq!(metrics.snapshot().total().sent, 0);
/// ```
#[derive(Default)]
pub struct MetricsSink {
    merged: Arc<Mutex<Merged>>,
    /// Whether the run has faults, as a note said; known before other threads begin.
    has_faults: Arc<AtomicBool>,
}

#[derive(Default)]
struct Merged {
    metrics: Metrics,
    /// What happened since somebody last asked.
    interval: CallMetrics,
}

impl MetricsSink {
    /// An empty sink.
    pub fn new() -> Self {
        Self::default()
    }

    /// What has been merged so far.
    pub fn snapshot(&self) -> Metrics {
        let mut metrics = lock(&self.merged).metrics.clone();
        metrics.sort();
        metrics
    }

    /// The tool calls that have been merged since the last call of this.
    pub fn take_interval(&self) -> CallMetrics {
        std::mem::take(&mut lock(&self.merged).interval)
    }

    /// The memory of the server's processes when it was last looked at, in MB.
    pub fn last_rss_mb(&self) -> Option<f64> {
        lock(&self.merged)
            .metrics
            .usage
            .last()
            .map(|usage| usage.rss_mb)
    }
}

impl Sink for MetricsSink {
    fn name(&self) -> &'static str {
        NAME
    }

    fn shard(&self) -> Box<dyn Shard> {
        Box::new(MetricsShard {
            merged: Arc::clone(&self.merged),
            phases: Vec::new(),
            methods: Named::default(),
            second: ((0, 0), SecondMetrics::default()),
            hung: BTreeSet::new(),
            rest: Metrics::default(),
            struck: FaultedCalls::new(self.has_faults.load(Ordering::Acquire)),
            has_faults: Arc::clone(&self.has_faults),
        })
    }
}

/// One thread's metrics. Calls are found by phase and name once per event, without allocating.
struct MetricsShard {
    merged: Arc<Mutex<Merged>>,
    phases: Vec<Phase>,
    methods: Named,
    /// The second that is under way; almost every event falls into it.
    second: ((u16, u64), SecondMetrics),
    /// Requests that passed the hang threshold and have no answer.
    hung: BTreeSet<RequestKey>,
    rest: Metrics,
    /// Calls that met a fault, which are counted apart.
    struck: FaultedCalls,
    has_faults: Arc<AtomicBool>,
}

#[derive(Default)]
struct Phase {
    tools: Named,
    /// How slow a call must be to be kept as one of the slowest.
    slow_from: Duration,
}

impl MetricsShard {
    fn phase(&mut self, phase: u16) -> &mut Phase {
        let phase = usize::from(phase);
        if self.phases.len() <= phase {
            self.phases.resize_with(phase + 1, Phase::default);
        }
        &mut self.phases[phase]
    }

    fn of(&mut self, phase: u16, method: &str, tool: Option<&str>) -> &mut CallMetrics {
        match tool {
            None => self.methods.of(method),
            Some(tool) => self.phase(phase).tools.of(tool),
        }
    }

    fn second(&mut self, phase: u16, at: Duration) -> &mut SecondMetrics {
        let key = (phase, at.as_secs());
        if self.second.0 != key {
            self.close_second();
            self.second.0 = key;
        }
        &mut self.second.1
    }

    fn close_second(&mut self) {
        let (key, counts) = std::mem::take(&mut self.second);
        if counts != SecondMetrics::default() {
            self.rest.seconds.entry(key).or_default().add(&counts);
        }
        self.second.0 = key;
    }

    /// A request was answered, or failed for a reason other than that we gave it up.
    fn end(&mut self, request: RequestKey) {
        if !self.hung.is_empty() && self.hung.remove(&request) {
            self.rest.hung_unanswered -= 1;
        }
    }

    /// Whose the event is. A call that is given back by a fault is counted as sent.
    fn attribute(&mut self, event: &Event<'_>) -> SinkResult<Attribution> {
        let owner = self.struck.sort(event, &mut self.rest.faults);
        if let Some((tool, tag)) = self.struck.returned.take() {
            self.of(tag.phase, "tools/call", Some(&tool)).send(tag.wait);
        }
        owner.map_err(|error| SinkError {
            sink: NAME,
            reason: error.to_string(),
            events: 1,
        })
    }

    fn consider_slow(
        &mut self,
        at: Duration,
        request: RequestKey,
        tool: &str,
        tag: CallTag,
        duration: Duration,
        category: Option<ErrorCategory>,
    ) {
        let duration = duration + tag.wait;
        if duration < self.phase(tag.phase).slow_from {
            return;
        }
        let slow = SlowCall {
            tool: tool.to_owned(),
            session: request.session,
            request_id: request.id,
            at,
            duration,
            category,
        };
        self.rest.consider(tag.phase, slow);
        let own = self.rest.slow_from(tag.phase);
        let known = &mut self.phase(tag.phase).slow_from;
        *known = own.max(*known);
    }
}

/// Calls by name. The names are few and found often.
#[derive(Default)]
struct Named {
    places: FxHashMap<Box<str>, usize>,
    calls: Vec<(Box<str>, CallMetrics)>,
}

impl Named {
    fn of(&mut self, name: &str) -> &mut CallMetrics {
        let place = self.places.get(name).copied().unwrap_or_else(|| {
            let place = self.calls.len();
            self.calls.push((name.into(), CallMetrics::default()));
            self.places.insert(name.into(), place);
            place
        });
        &mut self.calls[place].1
    }
}

impl Shard for MetricsShard {
    fn record(&mut self, event: &Event<'_>) -> SinkResult {
        let at = event.at;
        let owner = self.attribute(event)?;
        match event.kind {
            _ if owner == Attribution::Fault => {}
            EventKind::Request {
                method, tool, tag, ..
            } => self.of(tag.phase, method, tool).send(tag.wait),
            EventKind::Response {
                request,
                method,
                tool,
                duration,
                tag,
                ..
            } => {
                self.end(request);
                self.of(tag.phase, method, tool).succeed(duration, tag.wait);
                if let Some(tool) = tool {
                    let latency_ns = nanoseconds(duration + tag.wait);
                    self.second(tag.phase, at).add(&SecondMetrics {
                        succeeded: 1,
                        failed: 0,
                        latency_ns,
                    });
                    self.consider_slow(at, request, tool, tag, duration, None);
                }
            }
            EventKind::Error {
                request,
                method,
                tool,
                duration,
                failure,
                tag,
            } => {
                let category = failure.category;
                let is_given_up = category == ErrorCategory::Cancelled;
                if !is_given_up {
                    self.end(request);
                }
                let calls = self.of(tag.phase, method, tool);
                if owner == Attribution::Lost {
                    calls.lost_to_faults += 1;
                    return Ok(());
                }
                calls.fail(at, duration, &failure);
                if let Some(tool) = tool {
                    if !is_given_up {
                        self.second(tag.phase, at).failed += 1;
                    }
                    self.consider_slow(at, request, tool, tag, duration, Some(category));
                }
            }
            EventKind::Hang { request, .. } => {
                self.rest.hangs += 1;
                if self.hung.insert(request) {
                    self.rest.hung_unanswered += 1;
                }
            }
            EventKind::Deadlock { .. } => self.rest.deadlocks += 1,
            EventKind::Crash { .. } => self.rest.crashes += 1,
            EventKind::ProcessSample {
                rss_mb,
                cpu_pct,
                threads,
                descriptors,
                processes,
            } => self.rest.usage.push(ProcessSample {
                at,
                rss_mb,
                cpu_pct,
                threads,
                descriptors,
                processes,
            }),
            EventKind::ScenarioEvent {
                name,
                message,
                data,
            } => {
                let is_watching = self.struck.is_watching;
                self.has_faults.fetch_or(is_watching, Ordering::AcqRel);
                self.rest.note(Note {
                    at,
                    name: name.to_owned(),
                    data: data.to_owned(),
                    message: message.to_owned(),
                });
            }
        }
        Ok(())
    }

    fn merge(&mut self) -> SinkResult {
        self.close_second();
        let mut merged = lock(&self.merged);
        let Merged { metrics, interval } = &mut *merged;
        metrics.add(std::mem::take(&mut self.rest));
        for (name, calls) in &mut self.methods.calls {
            hand_over(&mut metrics.methods, name, calls);
        }
        for (number, phase) in (0..=u16::MAX).zip(&mut self.phases) {
            phase.slow_from = metrics.slow_from(number);
            for (name, calls) in &mut phase.tools.calls {
                if !calls.is_empty() {
                    interval.add(calls);
                    hand_over(metrics.phases.entry(number).or_default(), name, calls);
                }
            }
        }
        Ok(())
    }
}

fn hand_over(sums: &mut BTreeMap<String, CallMetrics>, name: &str, calls: &mut CallMetrics) {
    if calls.is_empty() {
        return;
    }
    match sums.get_mut(name) {
        Some(sum) => sum.add(calls),
        None => {
            sums.insert(name.to_owned(), calls.clone());
        }
    }
    calls.clear();
}

#[cfg(test)]
mod tests {
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
                tag: CallTag::default(),
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
        let echo = &metrics.phases[&0]["echo"];
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
        assert_eq!(metrics.phases[&0]["tools/call"].succeeded(), 1);
        assert_eq!(metrics.methods["tools/call"].succeeded(), 1);
    }
}
