//! The metrics sink: gathers [`Metrics`] per thread, and merges them on demand.

use std::sync::{Arc, Mutex, PoisonError};

use mcprove_score::trace::{Event, EventKind};
use rustc_hash::FxHashMap;

use super::metrics::{CallMetrics, Metrics};
use super::{Shard, Sink, SinkError};

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

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
